import type { Spoken } from '../../dialects/mpp/spoken.ts'
import { settleResponse } from '../../dialects/x402/render-offer.ts'
import type { Outcome } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { RawAnswer } from '../../protocol/access.ts'
import { encodeJson } from '../../protocol/base64.ts'
import { PAID_HEADERS, unchargedHeaders, undeliveredHeaders } from './headers.ts'
import { type OutcomeRenderer, receiptHeader } from './render-outcome.ts'
import type { Reply } from './reply.ts'

type Resource = Extract<Outcome, { kind: 'resource' }>

const WITHOUT_BODY = new Set([204, 205, 304])
const BEYOND_LATIN1 = /[^\0-\xff]/

/** The outcome of a raw route's direct call: the backend's own answer, with what is to say of the payment in headers. */
export function renderRaw(outcome: Outcome, render: OutcomeRenderer, spoken: Spoken): Reply {
  if (outcome.kind !== 'resource') return render.outcome(outcome, spoken)
  const { raw, response } = outcome
  if (!raw && outcome.settled.failure !== undefined) return noMeteredAnswer(outcome, render, spoken)
  if (!raw) return response.refund ? noAnswer(outcome, render, spoken) : render.outcome(outcome, spoken)
  return rawReply(raw, paymentFacts(outcome, render, spoken))
}

/** The backend's own answer with further headers. */
export function rawReply(raw: RawAnswer, facts: Readonly<Record<string, string>>): Reply {
  const { status, statusHeaders } = publicStatus(raw.status)
  const headers: Record<string, string> = {}
  for (const [name, given] of raw.headers) {
    const value = asSent(given)
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value
  }
  Object.assign(headers, facts, statusHeaders)
  return { status, headers, body: null, ...(!WITHOUT_BODY.has(status) && { bytes: raw.body }) }
}

/** Headers are written byte by byte: text that was read as UTF-8 becomes the bytes that the backend sent. */
function asSent(value: string): string {
  return BEYOND_LATIN1.test(value) ? Buffer.from(value).toString('latin1') : value
}

function paymentFacts(
  { response, settled, cached }: Resource,
  render: OutcomeRenderer,
  spoken: Spoken,
): Record<string, string> {
  return {
    'cache-control': PAID_HEADERS['cache-control'],
    'access-control-allow-origin': PAID_HEADERS['access-control-allow-origin'],
    // The backend's headers are as much for a page's script as ours.
    'access-control-expose-headers': '*',
    'payment-response': encodeJson(settleResponse(settled)),
    'x-svc-challenge-id': response.challengeId,
    'x-svc-request-id': response.requestId,
    'x-svc-tx-hash': response.txHash,
    ...render.receiptUrlHeader(response.challengeId),
    ...(cached && { 'x-svc-code': 'PROOF_ALREADY_REDEEMED' }),
    ...unchargedHeaders(settled),
    ...(response.refund ? undeliveredHeaders(response) : receiptHeader(settled, spoken)),
  }
}

/**
 * A 402 that is not ours would make a client pay again, 407 is for the next connection only, and beyond 599 nothing is
 * defined: each becomes a 502 that names it.
 */
export function publicStatus(status: number): { status: number; statusHeaders: Record<string, string> } {
  const isFit = status !== 402 && status !== 407 && status <= 599
  if (isFit) return { status, statusHeaders: {} }
  return { status: 502, statusHeaders: { 'x-svc-backend-status': String(status) } }
}

/** A metered call without an answer: nothing was charged. */
function noMeteredAnswer({ response, settled }: Resource, render: OutcomeRenderer, spoken: Spoken): Reply {
  const message = `The call was not answered: ${settled.failure}. Nothing was charged.`
  const error = new GatewayError('CALL_FAILED', message, { challengeId: response.challengeId })
  return render.failure(error, { httpStatus: response.resource.status, settled, spoken })
}

/** There is no answer to pass on; so this one is ours, as for a plan whose credential could not be issued. */
function noAnswer(outcome: Resource, render: OutcomeRenderer, spoken: Spoken): Reply {
  const { challengeId, txHash, refund, resource } = outcome.response
  const reason = (resource.body as { error?: string } | null)?.error ?? `it answered ${resource.status}`
  const error = new GatewayError(
    'DELIVERY_FAILED',
    `The payment is confirmed but the call was not answered: ${reason}. The payment goes back after ${refund?.when}, once its block is final.`,
    {
      challengeId,
      txHash,
      ...(refund && { refund }),
      hint: 'send the same payload again: the call is made again and nothing is charged; otherwise follow statusUrl until the refund is there',
    },
  )
  const { settled } = outcome
  const more = { retryable: true }
  const headers = paymentFacts(outcome, render, spoken)
  return render.failure(error, { httpStatus: resource.status, headers, settled, more, spoken })
}
