import { setImmediate as turn } from 'node:timers/promises'
import type { ChallengeRow, Store } from '../../ports.ts'
import { CHALLENGE_STATES } from '../../protocol/access.ts'
import { waitAtMost } from '../wait-at-most.ts'
import { type CreditsBook, createCreditsBook } from './credits-book.ts'
import { followLog, type LogEntry, lastSeq } from './follow-log.ts'
import { awaitsRefund, newSale, type Sale, type SaleRow, updateSale } from './sale.ts'
import { createSaleFigures, type Range, type SaleFigures } from './sale-figures.ts'

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

/**
 * What was sold: sums for all time and a list of the newest challenges, kept in memory and made from the audit log.
 * The log is read only when somebody asks, so a gateway whose dashboard nobody uses does no work for it.
 */
export interface SalesBook {
  /** Reads what is new, for a second at most; the rest of a long history is read in the background, see `reading`. */
  refresh(): Promise<void>
  reading(): { done: number; total: number } | undefined
  report(range: Range): ReturnType<SaleFigures['report']>
  states(): Record<string, number>
  /** Purchases of credits; call `refresh` of both. */
  credits: CreditsBook
  find(query: SaleQuery): { found: Array<Sale & { row: SaleRow }>; next: number | null; total: number }
  /** Every sale of which money should be refunded and has not been yet. */
  awaitingRefund(): Array<Sale & { row: SaleRow }>
  /** Calls the listener about a second after each change at most, until the returned function is called. */
  watch(listener: (challengeIds: readonly string[]) => void): () => void
  /** Reports a change, so that listeners are called soon. `unpaid` challenges are not in the log: they come only from here. */
  note(unpaid: readonly ChallengeRow[]): void
  close(): void
}

export type ReadStore = Pick<Store, 'get' | 'log' | 'onCommitted'>

const KEPT = 50_000
/** There are many unpaid challenges, and they must not push sales out of the list. */
const KEPT_UNPAID = 1_000
const REFRESH_LIMIT_MS = 1_000
const SOON_MS = 50
/** The events with which the log of a challenge can begin. */
const FIRST_EVENTS = new Set(['payment-claimed', 'cancelled'])
const POLL_MS = 1_000

/** The end of a challenge that nobody paid: it is not a sale. While it was open it was known from `note`. */
function isUnpaid({ event, details }: LogEntry): boolean {
  return event === 'created' || details?.unpaid === true
}

export function createSalesBook(
  store: ReadStore,
  { kept = KEPT, now = Date.now }: { kept?: number; now?: () => number } = {},
): SalesBook {
  const log = followLog(store, now)
  const figures = createSaleFigures()
  const credits = createCreditsBook(store, now)
  const sales = new Map<string, Sale>()
  /** Too old for the list, but a refund is still due. */
  const unfinished = new Map<string, Sale>()
  const unpaid = new Map<string, Sale>()
  const states = new Map<string, number>(CHALLENGE_STATES.map((state) => [state, 0]))
  const watchers = new Set<(ids: readonly string[]) => void>()
  const unsubscribe = store.onCommitted?.(() => book.note([]))
  let places = 0
  let total = 0
  let pass: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let hurried = false
  let closed = false

  function saleOf(entry: LogEntry): Sale {
    const known = sales.get(entry.challengeId) ?? unfinished.get(entry.challengeId)
    if (known) return known
    // An event of a sale that is no longer in the list; it has been counted before.
    const open = unpaid.get(entry.challengeId)
    if (open) {
      unpaid.delete(open.challengeId)
      sales.set(open.challengeId, open)
      return open
    }
    if (!FIRST_EVENTS.has(entry.event)) {
      const old = newSale(entry, 0)
      unfinished.set(old.challengeId, old)
      return old
    }
    places += 1
    const sale = newSale(entry, places)
    sales.set(sale.challengeId, sale)
    figures.count('challenges', entry.at, undefined)
    states.set(sale.state, (states.get(sale.state) ?? 0) + 1)
    return sale
  }

  function move(sale: Sale, { event, at, fromState, toState, txHash, details }: LogEntry): void {
    if (fromState !== null && toState !== null && fromState !== toState) {
      states.set(fromState, (states.get(fromState) ?? 0) - 1)
      states.set(toState, (states.get(toState) ?? 0) + 1)
      // Where there is a record, its state counts; see updateSale.
      if (!sale.row) sale.state = toState
    }
    switch (event) {
      case 'payment-claimed':
        sale.claimedAt = at
        return
      case 'paid':
        if (sale.claimedAt !== null) figures.sample(at, Math.max(0, at - sale.claimedAt))
        figures.count('paid', at, sale.row)
        return
      case 'delivered':
        figures.count('delivered', at, sale.row)
        return
      case 'late-money':
        sale.refundSince = at
        figures.count('paid', at, sale.row)
        return
      case 'delivery-failed':
      case 'backend-failed':
        sale.refundSince ??= at
        return
      case 'surplus-received':
      case 'surplus-refund-retried':
      case 'credits-refund-retried':
        sale.surplus = 'waiting'
        return
      case 'credits-closed':
        if (details?.value === '0') return
        sale.surplus = 'waiting'
        sale.refundSince = at
        sale.owed = String(details?.value)
        return
      case 'surplus-refunded':
      case 'credits-refunded':
      case 'credits-refund-proven':
        sale.surplus = null
        return
      case 'surplus-refund-failed':
      case 'credits-refund-failed':
        sale.surplus = 'failed'
        return
      case 'refund-confirmed':
      case 'refund-proven':
        figures.count('refunded', at, sale.row)
        return
      case 'receipt-lost':
        // The refund of its credits is void.
        if (sale.owed !== undefined && sale.row?.txHash === txHash) sale.surplus = null
        if (fromState === 'DELIVERED' && sale.row && sale.row.txHash === txHash) figures.lose(at, sale.row)
    }
  }

  /** A challenge that this instance opened, or saw end unpaid. */
  function noteUnpaid(row: ChallengeRow): void {
    const known = sales.get(row.key) ?? unpaid.get(row.key)
    const sale = known ?? newSale({ challengeId: row.key, requestId: row.requestId }, ++places)
    if (known) states.set(known.state, (states.get(known.state) ?? 0) - 1)
    else {
      unpaid.set(row.key, sale)
      figures.count('challenges', row.createdAt, undefined)
      for (const [id, { state }] of unpaid) {
        if (unpaid.size <= KEPT_UNPAID) break
        unpaid.delete(id)
        states.set(state, (states.get(state) ?? 0) - 1)
      }
    }
    updateSale(sale, row)
    states.set(sale.state, (states.get(sale.state) ?? 0) + 1)
  }

  function forgetOldest(): void {
    for (const [id, sale] of sales) {
      if (sales.size <= kept) break
      sales.delete(id)
      if (awaitsRefund(sale)) unfinished.set(id, sale)
    }
    for (const [id, sale] of unfinished) if (!awaitsRefund(sale)) unfinished.delete(id)
  }

  async function readPage(): Promise<boolean> {
    const { entries, more } = await log.next()
    const ids = [...new Set(entries.map(({ challengeId }) => challengeId))]
    const rows = ids.length === 0 ? [] : await store.get('challenges', ids)
    const byId = new Map(rows.flatMap((row): Array<[string, ChallengeRow]> => (row ? [[row.key, row]] : [])))
    for (const entry of entries) {
      if (isUnpaid(entry)) continue
      credits.note(entry)
      const sale = saleOf(entry)
      const row = byId.get(entry.challengeId)
      if (row) updateSale(sale, row)
      move(sale, entry)
    }
    forgetOldest()
    if (ids.length > 0) for (const listener of watchers) listener(ids)
    return more
  }

  async function readAll(): Promise<void> {
    if (total === 0) total = await lastSeq(store)
    // Payments are more important: give way to them between two pages.
    while (!closed && (await readPage())) await turn()
    total = Math.max(total, log.position())
  }

  function schedule(delayMs: number): void {
    if (closed || watchers.size === 0 || timer) return
    timer = setTimeout(() => {
      timer = undefined
      hurried = false
      const again = () => schedule(POLL_MS)
      void book.refresh().then(again, again)
    }, delayMs)
    timer.unref()
  }

  const withRow = (sale: Sale): Array<Sale & { row: SaleRow }> => {
    return sale.row ? [sale as Sale & { row: SaleRow }] : []
  }

  const book: SalesBook = {
    async refresh() {
      if (closed) return
      pass ??= readAll().finally(() => {
        pass = undefined
      })
      await waitAtMost(REFRESH_LIMIT_MS, pass)
    },
    reading: () => (pass && total > 0 ? { done: Math.min(log.position(), total), total } : undefined),
    report: (range) => figures.report(range, now()),
    states: () => Object.fromEntries(states),
    credits,
    find({ q, state, kind, network, before, limit }) {
      const text = q?.trim().toLowerCase() ?? ''
      const matching = [...sales.values(), ...unpaid.values()]
        .sort((a, b) => b.place - a.place)
        .flatMap(withRow)
        .filter((sale) => {
          return (
            (state === undefined || sale.state === state) &&
            (kind === undefined || sale.row.kind === kind) &&
            (network === undefined || sale.row.network === network) &&
            (text === '' || sale.text.includes(text))
          )
        })
      const rest = before === undefined ? matching : matching.filter(({ place }) => place < before)
      const found = rest.slice(0, limit)
      return { found, next: rest.length > limit ? found.at(-1)!.place : null, total: matching.length }
    },
    awaitingRefund: () => {
      return [...unfinished.values(), ...sales.values()].filter(awaitsRefund).flatMap(withRow).reverse()
    },
    watch(listener) {
      watchers.add(listener)
      schedule(0)
      return () => watchers.delete(listener)
    },
    note(rows) {
      for (const row of rows) noteUnpaid(row)
      // Rescheduled only once until the next read: otherwise a busy shop would postpone it for ever.
      if (watchers.size === 0 || hurried) return
      hurried = true
      clearTimeout(timer)
      timer = undefined
      schedule(SOON_MS)
    },
    close() {
      closed = true
      clearTimeout(timer)
      watchers.clear()
      unsubscribe?.()
    },
  }
  return book
}
