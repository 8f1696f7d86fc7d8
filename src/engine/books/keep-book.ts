import { asBooked, HEAD_KEY } from '../../rules/sales-book.ts'
import type { Core } from '../core.ts'
import { type Entry, enterPage, newHead } from './book-page.ts'

const PAGE = 500
/** Years of sales of an earlier version are entered at this pace, in pages per pass of the jobs. */
const PAGES_PER_PASS = 8
/** No entry can appear any more before one that is so old: on Postgres one may after another with a higher number. */
const SETTLED_MS = 120_000

/**
 * Keeps the sales book: sums per hour and day, the sales of each payer and transaction, and what should be refunded.
 * It is made from the log, a page at a time and about two minutes behind, and the dashboard and exports begin where it
 * ends. Many instances may do this at once: the head's version lets one of them enter a page.
 */
export function createBookKeeper(core: Pick<Core, 'store' | 'clock' | 'alerts'>): () => Promise<void> {
  let nextAt = 0
  return async () => {
    try {
      for (let page = 0; page < PAGES_PER_PASS && core.clock.now() >= nextAt; page++) {
        const entered = await enterNext(core)
        nextAt = entered.nextAt
      }
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : 'unknown'
      core.alerts.raise('job-failed', `the sales book: ${why}`)
    }
  }
}

/** Enters the next page, if it is old enough. `nextAt`: when there may be more. */
export async function enterNext({
  store,
  clock,
}: Pick<Core, 'store' | 'clock'>): Promise<{ entered: number; nextAt: number }> {
  const now = clock.now()
  const [stored] = await store.get('books', [HEAD_KEY])
  const head = asBooked(stored, 'head') ?? newHead()
  const page = await store.log(head.seq, PAGE)
  const unsettled = page.findIndex((entry) => now - writtenAt(entry) <= SETTLED_MS)
  const settled = unsettled === -1 ? page : page.slice(0, unsettled)
  if (settled.length > 0) await store.commit(await enterPage(store, head, settled, now))
  if (unsettled !== -1) {
    const nextAt = Math.min(now, writtenAt(page[unsettled]!)) + SETTLED_MS + 1
    return { entered: settled.length, nextAt }
  }
  return { entered: settled.length, nextAt: page.length < PAGE ? now + SETTLED_MS : now }
}

/** Some entries are written long after the event that they report. */
function writtenAt({ at, details }: Entry): number {
  return typeof details?.loggedAt === 'number' ? details.loggedAt : at
}
