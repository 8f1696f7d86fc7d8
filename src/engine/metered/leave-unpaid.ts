import type { GatewayError } from '../../errors.ts'
import type { AuthorizationRow } from '../../ports.ts'
import { auditEntry, claimedEntry, putChallenge } from '../apply-event.ts'
import { settleHolds } from '../budgets/holds.ts'
import { type Core, commit } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import { type ClaimOutcome, withoutLive } from '../settle/release-claim.ts'
import { writeOffStream } from './stream-call.ts'

/** How often a charge that cannot be settled now is tried again, until its payment is no longer valid. */
const RETRY_MS = 5_000

/**
 * A call was answered, and its charge cannot be settled: the payer's money or allowance is gone, or it gave the nonce
 * up. The answer is kept back. While the payment is valid the charge is tried again, and the payer gets no further
 * metered call. `isOver`: it is not valid any more, or its nonce is used.
 */
export async function leaveUnpaid(
  core: Core,
  rail: OpenRail,
  attempt: AuthorizationRow,
  isOver: boolean,
  refusal: GatewayError,
  outcomes: Map<string, ClaimOutcome>,
): Promise<void> {
  const applied = isOver
    ? await endUnpaid(core, rail, attempt, refusal.message)
    : await wait(core, attempt, refusal.message)
  if (applied) outcomes.set(attempt.key, { kind: 'unpaid', error: refusal })
}

async function wait(core: Core, attempt: AuthorizationRow, reason: string): Promise<boolean> {
  const row = { ...attempt, reason, dueAt: core.clock.now() + RETRY_MS }
  const applied = await commit(core, { puts: [{ table: 'authorizations', row }] })
  if (applied && attempt.exposure) await settleHolds(core, [attempt.exposure], 'spent')
  return applied
}

/** Only we could have settled it, and never did: it can pay nothing any more. */
export async function endUnpaid(
  core: Core,
  rail: OpenRail,
  attempt: AuthorizationRow,
  reason: string,
): Promise<boolean> {
  const [challenge] = await core.store.get('challenges', [attempt.challengeId])
  if (!challenge) return false
  const { answer: _, streamed: _held, undelivered, exposure, gasHolds = [], claim, ...rest } = attempt
  const row: AuthorizationRow = { ...rest, phase: 'DEAD', reason, dueAt: null }
  const facts = { at: core.clock.now(), actor: 'gateway' as const, details: { reason } }
  const applied = await commit(core, {
    puts: [{ table: 'authorizations', row }, putChallenge(withoutLive(challenge, attempt.key))],
    audit: [
      ...(claim && attempt.sends === 0 ? [claimedEntry(challenge.key, claim, attempt.payer, facts.at)] : []),
      auditEntry(challenge, 'payment-abandoned', facts),
    ],
  })
  if (!applied) return false
  await settleHolds(core, [...gasHolds, ...(exposure ? [exposure] : [])], 'returned')
  await settleHolds(core, undelivered ? [undelivered] : [], 'spent')
  await writeOffStream(core, rail, attempt)
  return true
}
