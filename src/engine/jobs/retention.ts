import type { ChallengeRow } from '../../ports.ts'
import { auditEntry, putChallenge } from '../apply-event.ts'
import { type Core, commit, orderOf } from '../core.ts'
import { createLogWalk, forgetWalk } from './walk-log.ts'

const MARK = 'retention-read'

/** When the result of a delivered or refunded challenge may be removed; null: never. */
export function pruneAt(core: Core, paidAt: number | null): number | null {
  const { retentionMs } = core.config
  return retentionMs === undefined || paidAt === null ? null : paidAt + retentionMs
}

/**
 * Removes the result, and which path was called by whom. Everything that records the movement of money stays (the
 * challenge, its request, authorizations, receipts, refunds and log), so that no replay can pay or deliver again.
 */
export async function prune(core: Core, challenge: ChallengeRow): Promise<void> {
  const at = core.clock.now()
  const dueAt = pruneAt(core, challenge.paidAt)
  // Retention was switched off or extended after this row got its dueAt.
  if (dueAt === null || at < dueAt)
    return void (await commit(core, { puts: [putChallenge({ ...challenge, dueAt })] }))
  const pruned = {
    ...challenge,
    result: null,
    resource: null,
    clientAgentId: null,
    prunedAt: at,
    dueAt: null,
    ...accessEnd(core, challenge),
  }
  await commit(core, {
    puts: [putChallenge(pruned)],
    audit: [auditEntry(challenge, 'pruned', { at, actor: 'gateway' })],
  })
}

/** Kept of the credential that goes: whoever asks for it again gets one that ends when this one does. */
function accessEnd({ delivery }: Core, challenge: ChallengeRow): Pick<ChallengeRow, 'accessEndsAt'> {
  const { kind, state, result } = challenge
  if (kind !== 'plan' || state !== 'DELIVERED' || result === null) return {}
  const accessEndsAt = delivery.expiryOf(orderOf(challenge), result)
  return typeof accessEndsAt === 'number' ? { accessEndsAt } : {}
}

/**
 * Sets the dueAt of challenges that ended before retention was switched on. They are found in the log, one page per
 * call.
 */
export function createRetention(core: Core): () => Promise<void> {
  const isOn = core.config.retentionMs !== undefined
  const walk = createLogWalk(core, MARK, async (entries) => {
    const ended = entries.filter(({ toState }) => toState === 'DELIVERED' || toState === 'REFUNDED')
    const ids = [...new Set(ended.map(({ challengeId }) => challengeId))]
    const rows = ids.length === 0 ? [] : await core.store.get('challenges', ids)
    await Promise.all(rows.map((row) => row && isUnmarked(row) && mark(core, row)))
  })
  let forgotten = false
  return async () => {
    try {
      if (isOn) return await walk()
      // What is sold while it is off has no dueAt: when it is switched on again, the whole log must be read.
      if (!forgotten) await forgetWalk(core, MARK)
      forgotten = true
    } catch (cause) {
      core.alerts.raise('job-failed', `retention: ${cause instanceof Error ? cause.message : 'unknown'}`)
    }
  }
}

function isUnmarked({ state, dueAt, prunedAt }: ChallengeRow): boolean {
  return (state === 'DELIVERED' || state === 'REFUNDED') && dueAt === null && prunedAt === undefined
}

async function mark(core: Core, row: ChallengeRow): Promise<void> {
  await commit(core, { puts: [putChallenge({ ...row, dueAt: pruneAt(core, row.paidAt) })] })
}
