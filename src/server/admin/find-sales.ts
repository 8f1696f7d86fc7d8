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
 * The newest sales are in memory; older ones are read from the store, and only as many as are shown. A search that is
 * not for a payer or a transaction looks at the sales in memory first, and further back only when it is asked to go on.
 */
export async function findSales(
  store: Pick<Store, 'get' | 'log' | 'audit'>,
  { sales, strays, floor, states }: Window,
  query: SaleQuery,
): Promise<FoundSales> {
  const { before, limit } = query
  const text = query.q?.trim().toLowerCase() ?? ''
  const isFiltered = [text || undefined, query.kind, query.network].some((wish) => wish !== undefined)
  // While the stored book is still far behind, as after an upgrade, a payer is searched for like any other text.
  const isBooked = TERM.test(text) && ((await headOf(store))?.seq ?? 0) >= floor
  const inMemory = isBooked ? [...sales, ...strays] : sales
  const matching = inMemory
    .toSorted((a, b) => b.place - a.place)
    .flatMap(withRow)
    .filter((sale) => matches(sale, query, text))
  const rest = before === undefined ? matching : matching.filter(({ place }) => place < before)
  const found = rest.slice(0, limit)
  if (floor === 0) {
    return { found, next: rest.length > limit ? found.at(-1)!.place : null, total: matching.length }
  }
  const total = isFiltered ? null : countOf(states, query.state)
  if (found.length === limit) return { found, next: found.at(-1)!.place, total }
  const start = Math.min(floor + 1, before === undefined ? Number.POSITIVE_INFINITY : seqOfPlace(before))
  const isWanted = (row: ChallengeRow) => matches(saleOf(row, 0), query, text)
  const more = { limit: limit - found.length, maxPages: MAX_PAGES }
  let older: OlderSales
  if (isBooked) {
    const known = new Set(inMemory.map(({ challengeId }) => challengeId))
    const end = before === undefined ? Number.POSITIVE_INFINITY : seqOfPlace(before)
    older = await listOfTerm(store, text, end, (row) => !known.has(row.key) && isWanted(row), more.limit)
  } else if (before === undefined && (isFiltered || query.state !== undefined)) {
    older = { found: [], before: start }
  } else older = await listOlder(store, start, isWanted, more)
  return {
    found: [...found, ...older.found.map(({ seq, row }) => saleOf(row, placeOf(seq)))],
    next: older.before === null ? null : placeOf(older.before),
    total,
  }
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
