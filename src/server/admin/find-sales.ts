import type { ChallengeRow, Store } from '../../ports.ts'
import { listOfTerm, listOlder, type OlderSales } from './older-sales.ts'
import { newSale, placeOf, type Sale, type SaleRow, seqOfPlace, updateSale } from './sale.ts'
import { headOf } from './stored-book.ts'

export interface SaleQuery {
  q?: string | undefined
  state?: string | undefined
  kind?: string | undefined
  /** CAIP-2. */
  network?: string | undefined
  /** The `next` of an earlier result: only older sales are returned. */
  before?: number | undefined
  limit: number
}

export type ShowableSale = Sale & { row: SaleRow }

export interface FoundSales {
  found: ShowableSale[]
  /** There may be more before it, even if nothing was found yet. */
  next: number | null
  /** Null: not counted, because not all sales were looked at. */
  total: number | null
}

/** What is in memory: the newest sales. */
export interface Window {
  /** In any order. */
  sales: readonly Sale[]
  /** Older ones that the stored book may not have with their payer and transaction yet. */
  strays: readonly Sale[]
  /** Sales that began at or before this entry of the log are not in it. */
  floor: number
  /** Of all sales. */
  states: ReadonlyMap<string, number>
}

/** A payer, or a transaction: the sales book knows all sales of each. */
const TERM = /^0x([0-9a-f]{40}|[0-9a-f]{64})$/
/** One request looks at so many pages of the log at most; the next one goes on from there. */
const MAX_PAGES = 20

/**
 * The newest sales are in memory; older ones are read from the store, and only as many as are shown. Those of a payer or a
 * transaction are found by the stored book. A search for another text looks at the sales in memory first, and further
 * back only when it is asked to go on.
 */
export async function findSales(
  store: Pick<Store, 'get' | 'log' | 'audit'>,
  window: Window,
  query: SaleQuery,
): Promise<FoundSales> {
  const { sales, floor, states } = window
  const { before = Number.POSITIVE_INFINITY, limit } = query
  const text = query.q?.trim().toLowerCase() ?? ''
  const bookedSeq = TERM.test(text) ? ((await headOf(store))?.seq ?? 0) : 0
  // While the book is still far behind, as after an upgrade, a payer is searched for like any other text.
  if (bookedSeq > 0 && bookedSeq >= floor) return findByTerm(store, window, query, text, bookedSeq)
  const matching = listMatching(sales, query, text)
  const rest = matching.filter(({ place }) => place < before)
  const found = rest.slice(0, limit)
  if (floor === 0) {
    return { found, next: rest.length > limit ? found.at(-1)!.place : null, total: matching.length }
  }
  const isText = [text || undefined, query.kind, query.network].some((wish) => wish !== undefined)
  const total = isText ? null : countOf(states, query.state)
  if (found.length === limit) return { found, next: found.at(-1)!.place, total }
  const start = Math.min(floor + 1, seqOfPlace(before))
  if (query.before === undefined && (isText || query.state !== undefined))
    return { found, next: placeOf(start), total }
  const isWanted = (row: ChallengeRow) => matches(saleOf(row, 0), query, text)
  const older = await listOlder(store, start, isWanted, { limit: limit - found.length, maxPages: MAX_PAGES })
  return joined(found, older, total)
}

/** What the book does not have yet is in memory. */
async function findByTerm(
  store: Pick<Store, 'get'>,
  { sales, strays }: Window,
  query: SaleQuery,
  term: string,
  bookedSeq: number,
): Promise<FoundSales> {
  const { before = Number.POSITIVE_INFINITY, limit } = query
  const unbooked = [...sales, ...strays].filter(({ lastSeq }) => lastSeq > bookedSeq)
  const found = listMatching(unbooked, query, term).filter(({ place }) => place < before)
  if (found.length >= limit) {
    const some = found.slice(0, limit)
    return { found: some, next: some.at(-1)!.place, total: null }
  }
  const known = new Set(unbooked.map(({ challengeId }) => challengeId))
  const isWanted = (row: ChallengeRow) => !known.has(row.key) && matches(saleOf(row, 0), query, term)
  const older = await listOfTerm(store, term, seqOfPlace(before), isWanted, limit - found.length)
  const isAll = older.before === null && query.before === undefined
  return joined(found, older, isAll ? found.length + older.found.length : null)
}

function joined(found: ShowableSale[], older: OlderSales, total: number | null): FoundSales {
  return {
    found: [...found, ...older.found.map(({ seq, row }) => saleOf(row, placeOf(seq)))],
    next: older.before === null ? null : placeOf(older.before),
    total,
  }
}

/** The newest first. */
function listMatching(sales: readonly Sale[], query: SaleQuery, text: string): ShowableSale[] {
  return sales
    .toSorted((a, b) => b.place - a.place)
    .flatMap(withRow)
    .filter((sale) => matches(sale, query, text))
}

function countOf(states: ReadonlyMap<string, number>, state: string | undefined): number {
  if (state !== undefined) return states.get(state) ?? 0
  return [...states.values()].reduce((sum, count) => sum + count, 0)
}

function matches(sale: ShowableSale, { state, kind, network }: SaleQuery, text: string): boolean {
  return (
    (state === undefined || sale.state === state) &&
    (kind === undefined || sale.row.kind === kind) &&
    (network === undefined || sale.row.network === network) &&
    (text === '' || sale.text.includes(text))
  )
}

export function withRow(sale: Sale): ShowableSale[] {
  return sale.row ? [sale as ShowableSale] : []
}

function saleOf(row: ChallengeRow, place: number): ShowableSale {
  const sale = newSale({ challengeId: row.key, requestId: row.requestId }, place)
  updateSale(sale, row)
  return sale as ShowableSale
}
