import type { ChallengeRow, MarkRow } from '../../ports.ts'
import { type Core, commit, getOne, orderOf } from '../core.ts'
import { resultOf } from '../deliver/settled-outcome.ts'
import { LOT_KEPT_MS, lotOf } from './lots.ts'

/** One page of the log per pass of the jobs, so that reading years of sales causes little load. */
const PAGE = 500
const MARK = 'lots-indexed'

/**
 * Makes lots of plans that were sold before there were lots, or since then by an instance of an earlier version: they
 * are found in the log, one page per call, until its end. How far it was read is stored, so that the next start goes
 * on from there. Many instances may do this at once: a lot is inserted once.
 */
export function createLotIndex(core: Core): () => Promise<void> {
  let afterSeq: number | undefined
  let done = core.config.catalog.plans.size === 0
  return async () => {
    if (done) return
    try {
      afterSeq ??= await startOf(core)
      const entries = await core.store.log(afterSeq, PAGE)
      const sold = entries.filter(({ toState, event }) => toState === 'DELIVERED' && event === 'delivered')
      await indexSales(
        core,
        sold.map(({ challengeId }) => challengeId),
      )
      const last = entries.at(-1)?.seq
      if (last !== undefined) await remember(core, last)
      afterSeq = last ?? afterSeq
      done = entries.length < PAGE
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : 'unknown'
      core.alerts.raise('job-failed', `lots of earlier sales: ${why}`)
    }
  }
}

/** The last page is read again: an entry may have become visible after one with a higher number. */
async function startOf(core: Core): Promise<number> {
  const mark = await getOne(core, 'marks', MARK)
  return Math.max(0, (mark?.value ?? 0) - PAGE)
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
  const result = resultOf(core, challenge)
  if (challenge.kind !== 'plan' || challenge.state !== 'DELIVERED' || result === null) return
  const expiresAt = core.delivery.expiryOf(orderOf(challenge), result)
  if (expiresAt === undefined || (expiresAt !== null && expiresAt + LOT_KEPT_MS <= core.clock.now())) return
  const lot = lotOf(challenge, expiresAt)
  // A conflict means that it is there already.
  if (lot) await commit(core, { puts: [{ table: 'lots', row: lot }], durability: 'deferred' })
}

async function remember(core: Core, seq: number): Promise<void> {
  const known = await getOne(core, 'marks', MARK)
  if (known && known.value >= seq) return
  const mark: MarkRow = { key: MARK, version: known?.version ?? 0, ref: null, dueAt: null, value: seq }
  await commit(core, { puts: [{ table: 'marks', row: mark }], durability: 'deferred' })
}
