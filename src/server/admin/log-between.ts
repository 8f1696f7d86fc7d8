import { setImmediate as turn } from 'node:timers/promises'
import type { Store } from '../../ports.ts'
import { dayOf, hourOf, spanOf, spansKey } from '../../rules/sales-book.ts'
import type { LogEntry } from './follow-log.ts'
import { all, headOf } from './stored-book.ts'

/** In milliseconds; `to` is exclusive. */
export interface LogRange {
  from: number
  to: number
}

const PAGE = 500
const MAX_DAYS = 4_000

/**
 * What happened in this time, page by page. Times in the log are those of many clocks, and not in order: the sales book
 * says between which entries those of an hour are, and what is not in the book yet is read whole.
 */
export async function* logBetween(
  store: Pick<Store, 'log' | 'get'>,
  { from, to }: LogRange,
): AsyncGenerator<LogEntry[]> {
  for (const { afterSeq, lastSeq } of await spansOf(store, { from, to })) {
    for (let after = afterSeq; after < lastSeq; ) {
      const page = await store.log(after, PAGE)
      const found = page.filter(({ at, seq }) => at >= from && at < to && seq <= lastSeq)
      if (found.length > 0) yield found
      if (page.length < PAGE) break
      after = page.at(-1)!.seq
      // Payments go first: a page without anything wanted is followed by the next one.
      await turn()
    }
  }
}

/** The parts of the log that may have entries of this time. */
async function spansOf(store: Pick<Store, 'get'>, { from, to }: LogRange) {
  const whole = { afterSeq: 0, lastSeq: Number.POSITIVE_INFINITY }
  const head = from > 0 || Number.isFinite(to) ? await headOf(store) : undefined
  if (!head) return [whole]
  const first = Math.max(dayOf(Math.max(from, 0)), head.firstDay)
  const last = Math.min(dayOf(Math.min(to, Number.MAX_SAFE_INTEGER)), head.lastDay)
  if (last - first > MAX_DAYS) return [whole]
  const keys = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => spansKey(first + index))
  const spans =
    keys.length === 0 ? [] : all(await store.get('books', keys), 'spans').flatMap((row) => row.spans)
  const booked = spanOf(spans, { firstHour: hourOf(from), lastHour: hourOf(to) })
  const rest = { ...whole, afterSeq: head.seq }
  // The book may have grown between the two reads.
  return booked ? [{ ...booked, lastSeq: Math.min(booked.lastSeq, head.seq) }, rest] : [rest]
}
