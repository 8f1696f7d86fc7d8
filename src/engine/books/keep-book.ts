import { lastSeq } from '../../rules/last-seq.ts'
import { asBooked, HEAD_KEY } from '../../rules/sales-book.ts'
import type { Core } from '../core.ts'
import { enterPage, newHead } from './book-page.ts'

const PAGE = 500
/** Years of sales of an earlier version are entered at this pace, in pages per pass of the jobs. */
const PAGES_PER_PASS = 8
/**
 * On Postgres an entry may appear after one with a higher number, for as long as its transaction takes. So this instance
 * looks where the log ends, and enters what it has seen at the fourth look after that, two minutes later. The times of
 * entries say nothing about it: they are those of many clocks, and some of events long before.
 */
const LOOK_MS = 30_000
const LOOKS = 4

/**
 * Keeps the sales book: sums per hour and day, the sales of each payer and transaction, and what should be refunded.
 * It is made from the log, a page at a time and about two minutes behind, and the dashboard and exports begin where it
 * ends. Many instances may do this at once: the head's version lets one of them enter a page.
 */
export function createBookKeeper(core: Pick<Core, 'store' | 'clock' | 'alerts'>): () => Promise<void> {
  /** Where the log ended at the last looks, oldest first. */
  const ends: number[] = []
  let lookAt = 0
  let settled = 0
  let entered = 0

  async function look(): Promise<void> {
    const now = core.clock.now()
    // A clock that was set back must not stop the looks.
    lookAt = Math.min(lookAt, now + LOOK_MS)
    if (now < lookAt) return
    ends.push(await lastSeq(core.store, ends.at(-1)))
    lookAt = now + LOOK_MS
    if (ends.length > LOOKS) settled = ends.shift()!
  }

  return async () => {
    try {
      await look()
      for (let page = 0; page < PAGES_PER_PASS && entered < settled; page++)
        if ((await enterNext(core, settled)) === 0) entered = settled
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : 'unknown'
      core.alerts.raise('job-failed', `the sales book: ${why}`)
    }
  }
}

/** Enters the next page, up to this entry of the log; answers how many entries that were. */
export async function enterNext(
  { store, clock }: Pick<Core, 'store' | 'clock'>,
  settledSeq: number,
): Promise<number> {
  const [stored] = await store.get('books', [HEAD_KEY])
  const head = asBooked(stored, 'head') ?? newHead()
  if (head.seq >= settledSeq) return 0
  const page = await store.log(head.seq, PAGE)
  const settled = page.filter(({ seq }) => seq <= settledSeq)
  if (settled.length > 0) await store.commit(await enterPage(store, head, settled, clock.now()))
  return settled.length
}
