import type { BookedSale, ChallengeRow, Store } from '../../ports.ts'
import { beginsSale, mayBegin } from '../../rules/sale-events.ts'
import { asBooked, pageKey, termKey } from '../../rules/sales-book.ts'
import type { LogEntry } from './follow-log.ts'

export interface OlderSale {
  /** Of a log entry of the sale; lists are ordered by it. */
  seq: number
  row: ChallengeRow
}

export interface OlderSales {
  found: OlderSale[]
  /** Where to go on: only sales before this entry were not looked at. Null: there are none. */
  before: number | null
}

type OlderStore = Pick<Store, 'get' | 'log' | 'audit'>

const PAGE = 500

/** Sales that began before an entry of the log, the newest first. Looks at `maxPages` of it at most. */
export async function listOlder(
  store: OlderStore,
  before: number,
  isWanted: (row: ChallengeRow) => boolean,
  { limit, maxPages }: { limit: number; maxPages: number },
): Promise<OlderSales> {
  const found: OlderSale[] = []
  let end = before
  for (let page = 0; page < maxPages && end > 1; page++) {
    const from = Math.max(0, end - 1 - PAGE)
    const entries = (await store.log(from, PAGE)).filter(({ seq }) => seq < end)
    const rows = await rowsOf(store, entries)
    for (const entry of entries.reverse()) {
      const row = rows.get(entry.challengeId)
      if (!row || !isWanted(row) || !(await beginsSale(entry, row, (id) => store.audit(id)))) continue
      found.push({ seq: entry.seq, row })
      if (found.length === limit) return { found, before: entry.seq }
    }
    end = from + 1
  }
  return { found, before: end > 1 ? end : null }
}

/** Sales of one payer or in one transaction, the newest first. */
export async function listOfTerm(
  store: Pick<Store, 'get'>,
  term: string,
  before: number,
  isWanted: (row: ChallengeRow) => boolean,
  limit: number,
): Promise<OlderSales> {
  const found: OlderSale[] = []
  for await (const sales of bookedOf(store, term)) {
    const some = sales.filter(([seq]) => seq < before)
    const rows =
      some.length === 0
        ? []
        : await store.get(
            'challenges',
            some.map(([, id]) => id),
          )
    for (const [index, [seq]] of some.entries()) {
      const row = rows[index]
      if (!row || !isWanted(row)) continue
      found.push({ seq, row })
      if (found.length === limit) return { found, before: seq }
    }
  }
  return { found, before: null }
}

/** What the book has of a payer or a transaction, the newest first, a row at a time. */
async function* bookedOf(store: Pick<Store, 'get'>, term: string): AsyncGenerator<BookedSale[]> {
  const [row] = await store.get('books', [termKey(term)])
  const newest = asBooked(row, 'term')
  if (!newest) return
  yield newest.sales.toReversed()
  for (let page = newest.pages - 1; page >= 0; page--) {
    const [stored] = await store.get('books', [pageKey(term, page)])
    yield asBooked(stored, 'page')?.sales.toReversed() ?? []
  }
}

async function rowsOf(
  store: Pick<Store, 'get'>,
  entries: readonly LogEntry[],
): Promise<Map<string, ChallengeRow>> {
  const ids = [...new Set(entries.filter(mayBegin).map(({ challengeId }) => challengeId))]
  const rows = ids.length === 0 ? [] : await store.get('challenges', ids)
  return new Map(rows.flatMap((row): Array<[string, ChallengeRow]> => (row ? [[row.key, row]] : [])))
}
