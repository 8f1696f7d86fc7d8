import type { Outcome } from '../../engine/outcome.ts'
import type { GatewayError } from '../../errors.ts'
import { encodeJson } from '../../protocol/base64.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import type { PaymentRequired, SettleResponse } from '../../protocol/payment.ts'
import { challengeExtensions } from './challenge-extensions.ts'
import { createChallengeJson } from './challenge-json.ts'
import {
  authenticateWith,
  PAID_HEADERS,
  UNPAID_HEADERS,
  undeliveredHeaders,
  unpaidHeaders,
} from './headers.ts'
import { jsonReply, type Reply } from './reply.ts'

const DEFAULT_RETRY_SECONDS = 5

export interface FailureContext {
  required?: PaymentRequired | undefined
  receipt?: SettleResponse | undefined
  /** For what HTTP knows and the error table does not: 404, 405, 408. */
  httpStatus?: number | undefined
  headers?: Record<string, string>
  /** Further fields of the body. */
  more?: Record<string, unknown>
}

export interface OutcomeRenderer {
  outcome(outcome: Outcome): Reply
  failure(error: GatewayError, context?: FailureContext): Reply
}

/** Makes the functions that turn outcomes into replies; whatever no request changes is serialised here, once. */
export function createOutcomeRenderer(
  baseUrl: string,
  {
    embedded = false,
    discovery = { plans: [], routes: [] },
  }: { embedded?: boolean; discovery?: Pick<DiscoveryCatalog, 'plans' | 'routes'> } = {},
): OutcomeRenderer {
  const authenticate = authenticateWith(baseUrl)
  const extensions = challengeExtensions(baseUrl, { embedded, discovery })
  const jsonOf = createChallengeJson()
  const headerTail = `,"extensions":${JSON.stringify(extensions.header)}}`

  function challenge(required: PaymentRequired): Reply {
    // Header and body share one serialisation; the schemas stay out of the header, which clients echo.
    const { open, isAscii } = jsonOf(required)
    const inHeader = open + headerTail
    const svc = extensions.bodyJson(required)
    return {
      status: 402,
      headers: unpaidHeaders(
        // For what is ASCII anyway, it takes a third of the time.
        isAscii ? btoa(inHeader) : Buffer.from(inHeader, 'utf8').toString('base64'),
        authenticate(required.challengeId),
      ),
      body: `${open},"extensions":${svc.json}}`,
      isAscii: isAscii && svc.isAscii,
    }
  }

  function failure(error: GatewayError, context: FailureContext = {}): Reply {
    const { required, receipt, httpStatus = error.httpStatus, more } = context
    const { challengeId } = error.details
    const headers: Record<string, string> = {
      ...(receipt ? PAID_HEADERS : UNPAID_HEADERS),
      'x-svc-code': error.code,
      ...context.headers,
    }
    const retryAfterSeconds = error.details.retryAfterSeconds ?? defaultRetryAfter(error)
    if (retryAfterSeconds !== undefined) headers['retry-after'] = String(Math.ceil(retryAfterSeconds))
    if (receipt) headers['payment-response'] = encodeJson(receipt)
    if (required) {
      headers['payment-required'] = encodeJson({ ...required, extensions: extensions.header })
      if (httpStatus === 402) headers['www-authenticate'] = authenticate(required.challengeId)
    }
    const statusUrl =
      challengeId === undefined ? undefined : `${baseUrl}/x402/challenges/${encodeURIComponent(challengeId)}`
    const body = { ...error.toBody(statusUrl), httpStatus, ...more }
    if (retryAfterSeconds !== undefined) body.retryAfterSeconds = retryAfterSeconds
    return jsonReply(httpStatus, headers, body)
  }

  function outcome(result: Outcome): Reply {
    switch (result.kind) {
      case 'challenge':
        return challenge(result.required)
      case 'granted':
        return paid(result.grant, result.receipt, result.cached)
      case 'resource':
        return paid(result.response, result.receipt, result.cached, undeliveredHeaders(result.response))
      case 'paid':
        return paid(result.payment, result.receipt, false)
      case 'failed':
        return failure(result.error, { required: result.required, receipt: result.receipt })
    }
  }

  return { outcome, failure }
}

function paid(
  body: object,
  receipt: SettleResponse,
  cached: boolean,
  more: Record<string, string> = {},
): Reply {
  const headers: Record<string, string> = {
    ...PAID_HEADERS,
    'payment-response': encodeJson(receipt),
    ...more,
  }
  if (cached) headers['x-svc-code'] = 'PROOF_ALREADY_REDEEMED'
  return jsonReply(200, headers, body)
}

function defaultRetryAfter(error: GatewayError): number | undefined {
  return error.code === 'SETTLEMENT_PENDING' || error.code === 'RATE_LIMITED'
    ? DEFAULT_RETRY_SECONDS
    : undefined
}
