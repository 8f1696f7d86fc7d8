import type { X402 } from '../../dialects/x402/create-x402.ts'
import type { Offer, Outcome, SettledPayment } from '../../engine/outcome.ts'
import type { GatewayError } from '../../errors.ts'
import { encodeJson } from '../../protocol/base64.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import { challengeExtensions } from './challenge-extensions.ts'
import { challengeHeaders } from './challenge-headers.ts'
import { authenticateWith, PAID_HEADERS, UNPAID_HEADERS, undeliveredHeaders } from './headers.ts'
import { jsonReply, type Reply } from './reply.ts'

const DEFAULT_RETRY_SECONDS = 5

export interface FailureContext {
  offer?: Offer | undefined
  settled?: SettledPayment | undefined
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
  x402: X402,
  baseUrl: string,
  {
    embedded = false,
    discovery = { plans: [], routes: [] },
  }: { embedded?: boolean; discovery?: Pick<DiscoveryCatalog, 'plans' | 'routes'> } = {},
): OutcomeRenderer {
  const authenticate = authenticateWith(baseUrl)
  const extensions = challengeExtensions(baseUrl, { embedded, discovery })
  const headerTail = `,"extensions":${JSON.stringify(extensions.header)}}`

  function challenge(offer: Offer): Reply {
    // Header and body share one serialisation; the schemas stay out of the header, which clients echo.
    const { open, isAscii } = x402.offerJson(offer)
    const svc = extensions.bodyJson(offer)
    return {
      status: 402,
      headers: challengeHeaders(open + headerTail, isAscii, authenticate(offer.challengeId)),
      body: `${open},"extensions":${svc.json}}`,
      isAscii: isAscii && svc.isAscii,
    }
  }

  function failure(error: GatewayError, context: FailureContext = {}): Reply {
    const { offer, settled, httpStatus = error.httpStatus, more } = context
    const { challengeId } = error.details
    const headers: Record<string, string> = {
      ...(settled ? PAID_HEADERS : UNPAID_HEADERS),
      'x-svc-code': error.code,
      ...context.headers,
    }
    const retryAfterSeconds = error.details.retryAfterSeconds ?? defaultRetryAfter(error)
    if (retryAfterSeconds !== undefined) headers['retry-after'] = String(Math.ceil(retryAfterSeconds))
    if (settled) headers['payment-response'] = encodeJson(x402.settleResponse(settled))
    if (offer) {
      headers['payment-required'] = encodeJson({
        ...x402.paymentRequired(offer),
        extensions: extensions.header,
      })
      if (httpStatus === 402) headers['www-authenticate'] = authenticate(offer.challengeId)
    }
    const statusUrl =
      challengeId === undefined ? undefined : `${baseUrl}/x402/challenges/${encodeURIComponent(challengeId)}`
    const body = { ...error.toBody(statusUrl), httpStatus, ...more }
    if (retryAfterSeconds !== undefined) body.retryAfterSeconds = retryAfterSeconds
    return jsonReply(httpStatus, headers, body)
  }

  function paid(
    body: object,
    settled: SettledPayment,
    cached: boolean,
    more: Record<string, string> = {},
  ): Reply {
    const headers: Record<string, string> = {
      ...PAID_HEADERS,
      'payment-response': encodeJson(x402.settleResponse(settled)),
      ...more,
    }
    if (cached) headers['x-svc-code'] = 'PROOF_ALREADY_REDEEMED'
    return jsonReply(200, headers, body)
  }

  function outcome(result: Outcome): Reply {
    switch (result.kind) {
      case 'challenge':
        return challenge(result.offer)
      case 'granted':
        return paid(result.grant, result.settled, result.cached)
      case 'resource':
        return paid(result.response, result.settled, result.cached, undeliveredHeaders(result.response))
      case 'paid':
        return paid(result.payment, result.settled, false)
      case 'failed':
        return failure(result.error, { offer: result.offer, settled: result.settled })
    }
  }

  return { outcome, failure }
}

function defaultRetryAfter(error: GatewayError): number | undefined {
  return error.code === 'SETTLEMENT_PENDING' || error.code === 'RATE_LIMITED'
    ? DEFAULT_RETRY_SECONDS
    : undefined
}
