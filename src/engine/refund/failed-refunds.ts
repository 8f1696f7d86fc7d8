import type { RefundRow, Store } from '../../ports.ts'
import { asBooked, DUE_REF, HEAD_KEY } from '../../rules/sales-book.ts'

const PAGE = 500
/** The book is two minutes behind the log. Only after an upgrade from a version without a book there is more to read. */
const MAX_PAGES = 200
const FAILURES: readonly string[] = ['refund-failed', 'surplus-refund-failed', 'credits-refund-failed']

/**
 * The refunds that failed and that nobody has retried or ended by hand. No job looks at them, so they are found by the
 * sales book, and by the log where the book ends.
 */
export async function failedRefunds(store: Pick<Store, 'get' | 'list' | 'log'>): Promise<RefundRow[]> {
  const [stored] = await store.get('books', [HEAD_KEY])
  const booked = await store.list('books', DUE_REF)
  const ids = new Set(booked.flatMap((row) => asBooked(row, 'due')?.challengeId ?? []))
  let afterSeq = asBooked(stored, 'head')?.seq ?? 0
  for (let page = 0; page < MAX_PAGES; page++) {
    const entries = await store.log(afterSeq, PAGE)
    for (const { event, challengeId } of entries) if (FAILURES.includes(event)) ids.add(challengeId)
    afterSeq = entries.at(-1)?.seq ?? afterSeq
    if (entries.length < PAGE) break
  }
  const failed: RefundRow[] = []
  for (const id of ids) {
    const refunds = await store.list('refunds', id)
    failed.push(...refunds.filter(({ phase }) => phase === 'FAILED'))
  }
  return failed
}
