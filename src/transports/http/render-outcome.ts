import type { Mpp } from '../../dialects/mpp/create-mpp.ts'
import { type Spoken, UNSPOKEN } from '../../dialects/mpp/spoken.ts'
import { encodeUrl, RECEIPT_HEADER } from '../../dialects/mpp/words.ts'
import { problemOf, receiptOf } from '../../dialects/mpp/write-answers.ts'
import type { X402 } from '../../dialects/x402/create-x402.ts'
import type { Offer, Outcome, SettledPayment } from '../../engine/outcome.ts'
import type { GatewayError } from '../../errors.ts'
import { encodeJson } from '../../protocol/base64.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import { receiptUrlOf } from '../../protocol/receipts.ts'
import { challengeExtensions, type OfferExtension } from './challenge-extensions.ts'
import { challengeHeaders, roomBeside } from './challenge-headers.ts'
import { PAID_HEADERS, UNPAID_HEADERS, unchargedHeaders, undeliveredHeaders } from './headers.ts'
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
  /** The body has the terms too, as that of a 402 without an error has. */
  termsInBody?: boolean
  /** How the request spoke of payments. */
  spoken?: Spoken | undefined
}

export interface OutcomeRenderer {
  /** `inHeader`: a further member, as JSON in ASCII, of the extensions in the header of a challenge. */
  outcome(outcome: Outcome, spoken?: Spoken, inHeader?: string): Reply
  failure(error: GatewayError, context?: FailureContext): Reply
  /** `x-svc-receipt-url`: where a paid purchase is shown to people. */
  receiptUrlHeader(challengeId: string): Record<string, string>
}

/** Every way in which buyers may speak of payments over HTTP. */
export interface Dialects {
  x402: X402
  mpp: Mpp
}

export interface RendererOptions {
  embedded?: boolean
  discovery?: Pick<DiscoveryCatalog, 'plans' | 'routes' | 'refunds'>
  /** Extensions of the 402 that differ from offer to offer. */
  extensions?: readonly OfferExtension[]
}

/** `Payment-Receipt`, for those who paid by MPP. */
export function receiptHeader(settled: SettledPayment, { paysByMpp }: Spoken): Record<string, string> {
  const receipt = paysByMpp ? receiptOf(settled) : undefined
  return receipt ? { [RECEIPT_HEADER]: encodeUrl(receipt) } : {}
}

/** Makes the functions that turn outcomes into replies; whatever no request changes is serialised here, once. */
export function createOutcomeRenderer(
  { x402, mpp }: Dialects,
  baseUrl: string,
  {
    embedded = false,
    discovery = { plans: [], routes: [] },
    extensions: perOffer = [],
  }: RendererOptions = {},
): OutcomeRenderer {
  const extensions = challengeExtensions(baseUrl, { embedded, discovery, perOffer })

  function challenge(offer: Offer, spoken: Spoken, inHeader: string | undefined): Reply {
    // Header and body share one serialisation; the schemas and a long description stay out of the header, which clients echo.
    const written = x402.offerJson(offer)
    const { open, isAscii } = written
    const head = written.inHeader ?? written
    const svc = extensions.bodyJson(offer)
    return {
      status: 402,
      headers: challengeHeaders(
        `${head.open},"extensions":${extensions.headerJson(offer, inHeader)}}`,
        head.isAscii,
        (room) => mpp.authenticate(offer, spoken, room),
      ),
      body: `${open},"extensions":${svc.json}}`,
      isAscii: isAscii && svc.isAscii,
    }
  }

  function failure(error: GatewayError, context: FailureContext = {}): Reply {
    const { offer, settled, httpStatus = error.httpStatus, more, spoken = UNSPOKEN } = context
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
      const written = x402.offerJson(offer)
      const { open } = written.inHeader ?? written
      const terms = `${open},"extensions":${extensions.headerJson(offer)}}`
      const required = Buffer.from(terms, 'utf8').toString('base64')
      headers['payment-required'] = required
      const challenges = httpStatus === 402 && mpp.authenticate(offer, spoken, roomBeside(required))
      if (challenges) headers['www-authenticate'] = challenges
    }
    const statusUrl =
      challengeId === undefined ? undefined : `${baseUrl}/x402/challenges/${encodeURIComponent(challengeId)}`
    const accepts = offer && context.termsInBody ? { accepts: x402.paymentRequired(offer).accepts } : {}
    const body = { ...error.toBody(statusUrl), httpStatus, ...accepts, ...more }
    if (retryAfterSeconds !== undefined) body.retryAfterSeconds = retryAfterSeconds
    if (!spoken.paysByMpp) return jsonReply(httpStatus, headers, body)
    headers['content-type'] = 'application/problem+json'
    return jsonReply(httpStatus, headers, problemOf(body, error))
  }

  const receiptUrlHeader = (challengeId: string) => ({
    'x-svc-receipt-url': receiptUrlOf(baseUrl, challengeId),
  })

  function paid(
    body: { challengeId: string },
    settled: SettledPayment,
    cached: boolean,
    spoken: Spoken,
    more: Record<string, string> = {},
  ): Reply {
    const headers: Record<string, string> = {
      ...PAID_HEADERS,
      'payment-response': encodeJson(x402.settleResponse(settled)),
      ...(more['x-svc-code'] === undefined && receiptHeader(settled, spoken)),
      ...receiptUrlHeader(body.challengeId),
      ...more,
    }
    if (cached) headers['x-svc-code'] = 'PROOF_ALREADY_REDEEMED'
    return jsonReply(200, headers, body)
  }

  function outcome(result: Outcome, spoken: Spoken = UNSPOKEN, inHeader?: string): Reply {
    switch (result.kind) {
      case 'challenge':
        return challenge(result.offer, spoken, inHeader)
      case 'granted':
        return paid(result.grant, result.settled, result.cached, spoken)
      case 'resource':
        return paid(result.response, result.settled, result.cached, spoken, {
          ...undeliveredHeaders(result.response),
          ...unchargedHeaders(result.settled),
        })
      case 'paid':
        return paid(result.payment, result.settled, false, spoken)
      case 'failed':
        return failure(result.error, { offer: result.offer, settled: result.settled, spoken })
    }
  }

  return { outcome, failure, receiptUrlHeader }
}

function defaultRetryAfter(error: GatewayError): number | undefined {
  return error.code === 'SETTLEMENT_PENDING' || error.code === 'RATE_LIMITED'
    ? DEFAULT_RETRY_SECONDS
    : undefined
}
