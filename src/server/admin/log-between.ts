import type { Store } from '../../ports.ts'
import type { LogEntry } from './follow-log.ts'

/** In milliseconds; `to` is exclusive. */
export interface LogRange {
  from: number
  to: number
}

const PAGE = 500

/** What happened in this time, page by page. The whole log is read: its times are those of many clocks, and not in order. */
export async function* logBetween(
  store: Pick<Store, 'log'>,
  { from, to }: LogRange,
): AsyncGenerator<LogEntry[]> {
  let after = 0
  for (;;) {
    const page = await store.log(after, PAGE)
    if (page.length === 0) return
    const found = page.filter(({ at }) => at >= from && at < to)
    if (found.length > 0) yield found
    after = page.at(-1)!.seq
  }
}
