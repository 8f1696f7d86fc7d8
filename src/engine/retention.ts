import type { ChallengeRow } from '../ports.ts'
import { auditEntry, putChallenge } from './apply-event.ts'
import { type Core, commit } from './core.ts'

/** One page of the log per pass of the jobs: years of sales are looked through without anybody noticing. */
const PAGE = 500

/** When a challenge that is delivered or refunded may lose its result; null: never. */
export function pruneAt(core: Core, paidAt: number | null): number | null {
  const { retentionMs } = core.config
  return retentionMs === undefined || paidAt === null ? null : paidAt + retentionMs
}

/**
 * Takes away what was delivered, and which path was called by whom. Whatever says that money moved stays (the record,
 * its request, its authorizations, receipts and refunds, the log), so that no replay ever pays or delivers again.
 */
export async function prune(core: Core, challenge: ChallengeRow): Promise<void> {
  const at = core.clock.now()
  const dueAt = pruneAt(core, challenge.paidAt)
  // Retention was switched off or made longer since this row was marked.
  if (dueAt === null || at < dueAt)
    return void (await commit(core, { puts: [putChallenge({ ...challenge, dueAt })] }))
  const pruned = {
    ...challenge,
    result: null,
    resource: null,
    clientAgentId: null,
    prunedAt: at,
    dueAt: null,
  }
  await commit(core, {
    puts: [putChallenge(pruned)],
    audit: [auditEntry(challenge, 'pruned', { at, actor: 'gateway' })],
  })
}

/** Marks what came to rest before retention was switched on; found in the log, one page at each call. */
export function createRetention(core: Core): () => Promise<void> {
  let afterSeq = 0
  let done = core.config.retentionMs === undefined
  return async () => {
    if (done) return
    try {
      const entries = await core.store.log(afterSeq, PAGE)
      const ids = entries
        .filter(({ toState }) => toState === 'DELIVERED' || toState === 'REFUNDED')
        .map(({ challengeId }) => challengeId)
      const rows = ids.length === 0 ? [] : await core.store.get('challenges', [...new Set(ids)])
      await Promise.all(rows.map((row) => row && isUnmarked(row) && mark(core, row)))
      afterSeq = entries.at(-1)?.seq ?? afterSeq
      done = entries.length < PAGE
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
