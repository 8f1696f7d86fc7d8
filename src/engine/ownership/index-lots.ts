import type { ChallengeRow } from '../../ports.ts'
import { type Core, commit } from '../core.ts'
import { keptResult } from '../deliver/settled-outcome.ts'
import { createLogWalk } from '../jobs/walk-log.ts'
import { LOT_KEPT_MS, lotOf } from './lots.ts'

const MARK = 'lots-indexed'

/**
 * Makes lots of plans that were sold before there were lots, or since then by an instance of an earlier version: they
 * are found in the log, one page per call, until its end. How far it was read is stored, so that the next start goes
 * on from there. Many instances may do this at once: a lot is inserted once.
 */
export function createLotIndex(core: Core): () => Promise<void> {
  const walk = createLogWalk(core, MARK, async (entries) => {
    const sold = entries.filter(({ toState, event }) => toState === 'DELIVERED' && event === 'delivered')
    await indexSales(
      core,
      sold.map(({ challengeId }) => challengeId),
    )
  })
  return async () => {
    if (core.config.catalog.plans.size === 0) return
    try {
      await walk()
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : 'unknown'
      core.alerts.raise('job-failed', `lots of earlier sales: ${why}`)
    }
  }
}

async function indexSales(core: Core, challengeIds: readonly string[]): Promise<void> {
  const ids = [...new Set(challengeIds)]
  if (ids.length === 0) return
  const known = await core.store.get('lots', ids)
  const unknown = ids.filter((_, index) => known[index] === undefined)
  if (unknown.length === 0) return
  const rows = await core.store.get('challenges', unknown)
  await Promise.all(rows.map((row) => row && indexSale(core, row)))
}

async function indexSale(core: Core, challenge: ChallengeRow): Promise<void> {
  if (challenge.kind !== 'plan' || challenge.state !== 'DELIVERED') return
  const kept = await keptResult(core, challenge)
  if (!kept) return
  const expiresAt = core.delivery.expiryOf(kept.order, kept.result)
  if (expiresAt === undefined || (expiresAt !== null && expiresAt + LOT_KEPT_MS <= core.clock.now())) return
  const lot = lotOf(challenge, expiresAt)
  // A conflict means that it is there already.
  if (lot) await commit(core, { puts: [{ table: 'lots', row: lot }], durability: 'deferred' })
}
