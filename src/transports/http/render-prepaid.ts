import type { Spoken } from '../../dialects/mpp/spoken.ts'
import type { PrepaidOutcome } from '../../engine/outcome.ts'
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
  // Without an answer of the backend there is nothing to wrap: 502 or 504.
  const { status } =
    failure === undefined || !isRaw ? { status: 200 } : publicStatus(response.resource.status)
  return jsonReply(status, { ...PAID_HEADERS, ...EXPOSE_ALL, ...facts }, { ...response, credits: debit })
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
