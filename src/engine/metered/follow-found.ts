import type { AuthorizationRow, Block } from '../../ports.ts'
import { claimedEntry } from '../apply-event.ts'
import { afterCommit, type Core, commit } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import type { AttemptTracker } from '../settle/attempt-tracker.ts'
import { type Look, refuseDoubtful } from '../settle/look-at-chain.ts'
import type { ClaimOutcome } from '../settle/release-claim.ts'

/**
 * The nonce of a stored charge is used. If the store was restored from a backup, or lost its last steps, a transaction
 * of ours may have settled it that the store does not know. Such a transaction is looked for on the chain; the attempt
 * is then BROADCAST as if it had just been sent. False: it was not settled.
 */
export async function followFound(
  core: Core,
  rail: OpenRail,
  tracker: AttemptTracker,
  attempt: AuthorizationRow,
  look: Pick<Look, 'at'>,
  outcomes: Map<string, ClaimOutcome>,
): Promise<boolean> {
  const { metered } = rail.scheme
  const { phase, fromHeight, foundTx: known, claim, sends } = attempt
  if (!metered?.findSettlement || fromHeight === 0 || known !== undefined) return false
  if (phase !== 'CHARGED' && phase !== 'BROADCAST') return false
  const found = await metered.findSettlement(attempt.auth, fromHeight).catch(() => undefined)
  // Not known now: nothing is decided, and the row is looked at again when its lease is over. A node that does not have
  // the block of the look cannot show what happened there.
  if (!found || (await isDoubtful(core, rail, found.at, look))) return true
  const { txHash: foundTx } = found
  if (foundTx === undefined) return false
  const dueAt = core.clock.now() + core.config.leaseMs
  const row: AuthorizationRow = { ...attempt, phase: 'BROADCAST', foundTx, sends: sends + 1, dueAt }
  const isFirst = claim !== undefined && sends === 0
  const applied = await commit(core, {
    puts: [{ table: 'authorizations', row }],
    audit: isFirst ? [claimedEntry(attempt.challengeId, claim, attempt.payer)] : [],
  })
  if (!applied) return true
  outcomes.set(attempt.key, { kind: 'broadcast' })
  const sent = [afterCommit(row)]
  tracker.watch(sent)
  tracker.noteSent(sent, true)
  return true
}

async function isDoubtful(core: Core, rail: OpenRail, at: Block, look: Pick<Look, 'at'>): Promise<boolean> {
  if (at.number < look.at.number) return true
  return refuseDoubtful(core, rail, at).then(
    () => false,
    () => true,
  )
}
