import type { AuditEntry, MarkRow } from '../../ports.ts'
import { HOUR_MS } from '../../protocol/duration.ts'
import { type Core, commit, getOne } from '../core.ts'

/** One page of the log per pass of the jobs, so that reading years of sales causes little load. */
const PAGE = 500

/**
 * Reads the log once, a page per call, for work on what happened before this version or this setting. How far it came is
 * stored under `mark`, and moves on every hour, so that the next start has little to read. Many instances may do this at
 * once: the work must bear it.
 */
export function createLogWalk(
  core: Core,
  mark: string,
  work: (entries: ReadonlyArray<AuditEntry & { seq: number }>) => Promise<void>,
): () => Promise<void> {
  let afterSeq: number | undefined
  let nextAt = 0
  return async () => {
    if (core.clock.now() < nextAt) return
    afterSeq ??= await startOf(core, mark)
    const entries = await core.store.log(afterSeq, PAGE)
    await work(entries)
    const last = entries.at(-1)?.seq
    if (last !== undefined) await remember(core, mark, last)
    afterSeq = last ?? afterSeq
    if (entries.length < PAGE) nextAt = core.clock.now() + HOUR_MS
  }
}

/** So that a later walk begins at the beginning of the log. */
export async function forgetWalk(core: Core, mark: string): Promise<void> {
  const known = await getOne(core, 'marks', mark)
  if (!known) return
  const removes = [{ table: 'marks' as const, key: mark, version: known.version }]
  await commit(core, { puts: [], removes, durability: 'deferred' })
}

/** The last page is read again: an entry may have become visible after one with a higher number. */
async function startOf(core: Core, key: string): Promise<number> {
  const mark = await getOne(core, 'marks', key)
  return Math.max(0, (mark?.value ?? 0) - PAGE)
}

async function remember(core: Core, key: string, seq: number): Promise<void> {
  const known = await getOne(core, 'marks', key)
  if (known && known.value >= seq) return
  const mark: MarkRow = { key, version: known?.version ?? 0, ref: null, dueAt: null, value: seq }
  await commit(core, { puts: [{ table: 'marks', row: mark }], durability: 'deferred' })
}
