import { enterNext } from '../src/engine/books/keep-book.ts'
import type { Step, Store, StoreChoice } from '../src/ports.ts'
import { finishedBatch, type Sold } from './finished-sales.ts'
import { openHurried } from './hurried-stores.ts'

export const YEAR_MS = 365 * 86_400_000
const SALES_PER_STEP = 500
/** As many buy in one transaction at most: about what a busy gateway has in a batch. */
const BATCH = 10
/** So many transactions at least, so that every day has some. */
const TRANSACTIONS = 500
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
  const newest = Date.now() - NEWEST_AGO_MS
  const paidAtOf = (index: number) => Math.floor(newest - YEAR_MS + (YEAR_MS * (index + 1)) / count)
  const samples: Sold[] = []
  const batch = Math.min(BATCH, Math.ceil(count / TRANSACTIONS))
  const middle = Math.floor(count / 2 / batch) * batch
  try {
    for (let first = 0, nonce = 0; first < count; ) {
      const step: Required<Pick<Step, 'puts' | 'audit'>> = { puts: [], audit: [] }
      const end = Math.min(count, first + SALES_PER_STEP)
      for (let size = 0; first < end; first += size) {
        // One of the same size in every store: its transaction is looked for.
        size = Math.min(first === middle ? BATCH : batch, count - first)
        const made = finishedBatch({ first, count, size, nonce: nonce++, paidAt: paidAtOf(first) })
        step.puts.push(...made.step.puts)
        step.audit.push(...(made.step.audit ?? []))
        if (first === 0 || first === middle || first + size >= count) samples.push(made.sold[0]!)
      }
      const { kind } = await store.commit(step)
      if (kind !== 'applied') throw new Error('the sales could not be stored')
      say?.(first)
    }
    await keepBook(store)
    await noteRead(store)
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
  while ((await enterNext({ store, clock }, Number.POSITIVE_INFINITY)) > 0);
}

/** What its other jobs have stored about how far they have read the log. */
async function noteRead(store: Store): Promise<void> {
  const [head] = await store.get('books', ['head'])
  const value = head?.kind === 'head' ? head.seq : 0
  const row = { key: 'lots-indexed', version: 0, ref: null, dueAt: null, value }
  await store.commit({ puts: [{ table: 'marks', row }] })
}
