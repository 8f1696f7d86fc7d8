import type { Spoken } from '../../dialects/mpp/spoken.ts'
import type { PrepaidOutcome } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { Debit } from '../../protocol/access.ts'
import { PAID_HEADERS } from './headers.ts'
import type { OutcomeRenderer } from './render-outcome.ts'
import { publicStatus, rawReply } from './render-raw.ts'
import { jsonReply, type Reply } from './reply.ts'

/** The browser's page may read what was debited. */
const EXPOSE_ALL = { 'access-control-expose-headers': '*' }

type Answered = Extract<PrepaidOutcome, { kind: 'prepaid' }>

/** What was debited, of every answer to a prepaid call. */
export function debitHeaders({ charged, remaining }: Debit): Record<string, string> {
  return { 'x-svc-credits-charged': String(charged), 'x-svc-credits-remaining': String(remaining) }
}

/**
 * The answer to a prepaid call, in the form that a paid call of the same route has: the backend's own answer if it is
 * raw, otherwise a ResourceResponse.
 */
export function renderPrepaid(
  outcome: Exclude<PrepaidOutcome, { kind: 'reserved' }>,
  isRaw: boolean,
  render: OutcomeRenderer,
  spoken: Spoken,
): Reply {
  if (outcome.kind === 'failed') return render.outcome(outcome, spoken)
  const { response, raw, cached, failure, debit } = outcome
  const facts = {
    ...debitHeaders(debit),
    ...(cached && { 'x-svc-code': 'CALL_ALREADY_DEBITED' }),
    ...(failure !== undefined && { 'x-svc-code': 'DELIVERY_FAILED' }),
  }
  if (isRaw && raw) return rawReply(raw, { ...rawFacts(outcome), ...facts })
  if (isRaw && failure !== undefined) return noAnswer(outcome, { ...EXPOSE_ALL, ...facts }, render, spoken)
  return jsonReply(200, { ...PAID_HEADERS, ...EXPOSE_ALL, ...facts }, { ...response, credits: debit })
}

/** There is no answer to pass on, so this one is ours: 502 or 504. */
function noAnswer(
  { response, failure, debit }: Answered,
  headers: Record<string, string>,
  render: OutcomeRenderer,
  spoken: Spoken,
): Reply {
  const { challengeId, resource } = response
  const message = `The call was not answered: ${failure}. Nothing was debited.`
  const error = new GatewayError('DELIVERY_FAILED', message, { challengeId, hint: 'make the call again' })
  const { status: httpStatus } = publicStatus(resource.status)
  return render.failure(error, { httpStatus, headers, more: { retryable: true, credits: debit }, spoken })
}

function rawFacts({ response }: Answered): Record<string, string> {
  return {
    'cache-control': PAID_HEADERS['cache-control'],
    'access-control-allow-origin': PAID_HEADERS['access-control-allow-origin'],
    ...EXPOSE_ALL,
    'x-svc-challenge-id': response.challengeId,
    'x-svc-tx-hash': response.txHash,
  }
}
