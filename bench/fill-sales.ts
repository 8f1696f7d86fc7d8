import { enterNext } from '../src/engine/books/keep-book.ts'
import type { Step, Store, StoreChoice } from '../src/ports.ts'
import { BATCH, finishedBatch, type Sold } from './finished-sales.ts'
import { openHurried } from './hurried-stores.ts'

export const YEAR_MS = 365 * 86_400_000
const SALES_PER_STEP = 500
/** Old enough to be in the sales book. */
const NEWEST_AGO_MS = 600_000

export interface Filled {
  /** The oldest sale, one of the middle and the newest. */
  samples: Sold[]
  /** The first and the last time of `rows` sales in a row, from the middle. */
  span(rows: number): { from: number; to: number }
}

/**
 * Finished sales of the last year, written straight into a store that no gateway has open: buying a million on the local
 * chain would take a day.
 */
export async function fillSales(
  choice: StoreChoice,
  count: number,
  say?: (done: number) => void,
): Promise<Filled> {
  const { store, finish } = await openHurried(choice)
  const end = Date.now() - NEWEST_AGO_MS
  const paidAtOf = (index: number) => Math.floor(end - YEAR_MS + (YEAR_MS * (index + 1)) / count)
  const samples: Sold[] = []
  const middle = Math.floor(count / 2 / BATCH) * BATCH
  try {
    for (let from = 0; from < count; from += SALES_PER_STEP) {
      const step: Required<Pick<Step, 'puts' | 'audit'>> = { puts: [], audit: [] }
      for (let first = from; first < Math.min(count, from + SALES_PER_STEP); first += BATCH) {
        const size = Math.min(BATCH, count - first)
        const batch = finishedBatch(first, count, size, paidAtOf(first))
        step.puts.push(...batch.step.puts)
        step.audit.push(...(batch.step.audit ?? []))
        if (first === 0 || first === middle || first + BATCH >= count) samples.push(batch.sold[0]!)
      }
      const { kind } = await store.commit(step)
      if (kind !== 'applied') throw new Error('the sales could not be stored')
      say?.(Math.min(count, from + SALES_PER_STEP))
    }
    await keepBook(store)
  } finally {
    await finish()
  }
  return {
    samples,
    span: (rows) => ({ from: paidAtOf(middle), to: paidAtOf(Math.min(count, middle + rows)) }),
  }
}

/** The gateway's own job, until the book has all. */
export async function keepBook(store: Store): Promise<void> {
  const clock = { now: Date.now, sleep: async () => {}, requestsSent: async () => {} }
  while ((await enterNext({ store, clock })).entered > 0);
}
