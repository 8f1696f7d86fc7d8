import type { ChallengeRow, Put, SignedReceipt } from '../../ports.ts'
import { applyEvent, type Change, type EventFacts, putChallenge } from '../apply-event.ts'
import type { Core } from '../core.ts'
import { creditsOf } from '../credits/credit-rows.ts'
import { pruneAt } from '../jobs/retention.ts'
import { lotsOf } from '../ownership/lots.ts'
import { receiptFields } from './sign-receipt.ts'

/** What is stored of a delivery. */
export interface DeliveredResult {
  /** The sealed result; null where it is not stored. */
  result: string | null
  /** The receipt that goes out with the answer, if it was signed before this step. */
  receipt?: SignedReceipt | undefined
  /** Plans: when the credential ends (ms); null: never, or not known. */
  expiresAt?: number | null
}

/**
 * PAID → DELIVERED, with everything that is stored in the same step: `puts` are the challenge and the rows that go with
 * a delivery.
 */
export function deliveredChange(
  core: Core,
  before: ChallengeRow | Change,
  facts: EventFacts,
  { result, receipt, expiresAt = null }: DeliveredResult,
): Change & { puts: Put[] } {
  const paid = 'row' in before ? before.row : before
  const signed = receiptFields(core, paid, facts.at, receipt)
  const change = { leaseUntil: null, dueAt: pruneAt(core, paid.paidAt), result, ...signed }
  const credits = creditsOf(core, paid, expiresAt)
  const { row, audit } = applyEvent(before, 'delivered', withCredits(facts, credits), change)
  return { row, audit, puts: [putChallenge(row), ...lotsOf(row, expiresAt), ...credits] }
}

/** The log says how many credits were sold. */
function withCredits(facts: EventFacts, [put]: readonly Put[]): EventFacts {
  return put?.table === 'credits'
    ? { ...facts, details: { ...facts.details, credits: put.row.granted } }
    : facts
}
