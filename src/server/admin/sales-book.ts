import { setImmediate as turn } from 'node:timers/promises'
import type { ChallengeRow, Store } from '../../ports.ts'
import { CHALLENGE_STATES } from '../../protocol/access.ts'
import { followLog, type LogEntry, lastSeq } from './follow-log.ts'
import { awaitsRefund, newSale, type Sale, type SaleRow, updateSale } from './sale.ts'
import { createSaleFigures, type Range, type SaleFigures } from './sale-figures.ts'

export interface SaleQuery {
  q?: string | undefined
  state?: string | undefined
  kind?: string | undefined
  /** A `next` of an earlier answer. */
  before?: number | undefined
  limit: number
}

/**
 * What was sold, kept in memory by following the audit log: sums for all time, and the newest challenges for lists.
 * It reads only when somebody looks, so that a gateway that nobody watches does no work for it.
 */
export interface SalesBook {
  /** Reads what is new. Long histories are read on in the background: see `reading`. */
  refresh(): Promise<void>
  reading(): { done: number; total: number } | undefined
  report(range: Range): ReturnType<SaleFigures['report']>
  states(): Record<string, number>
  find(query: SaleQuery): { found: Array<Sale & { row: SaleRow }>; next: number | null; total: number }
  /** Every sale whose money should go back and has not yet. */
  awaitingRefund(): Array<Sale & { row: SaleRow }>
  /** Told of changes, about a second late at most, until the answer is called. */
  watch(listener: (challengeIds: readonly string[]) => void): () => void
  /** Something changed: whoever watches is told soon. Challenges that nobody paid yet are only known from here. */
  note(unpaid: readonly ChallengeRow[]): void
  close(): void
}

export type ReadStore = Pick<Store, 'get' | 'log' | 'onCommitted'>

const KEPT = 50_000
/** Unpaid challenges are many and soon forgotten; they must not push sales out of the list. */
const KEPT_UNPAID = 1_000
const PATIENCE_MS = 1_000
const SOON_MS = 50
/** What a challenge's log begins with. */
const FIRST_EVENTS = new Set(['payment-claimed', 'cancelled'])
const POLL_MS = 1_000

/** Ended without a payment, and known from `note` while it was open: the list is for what was sold. */
function isUnpaid({ event, details }: LogEntry): boolean {
  return event === 'created' || details?.unpaid === true
}

export function createSalesBook(
  store: ReadStore,
  { kept = KEPT, now = Date.now }: { kept?: number; now?: () => number } = {},
): SalesBook {
  const log = followLog(store, now)
  const figures = createSaleFigures()
  const sales = new Map<string, Sale>()
  /** Too old for the list, but money still has to go back. */
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
    // Something happens to a sale that is no longer in the list: it was counted long ago.
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

  function move(sale: Sale, { event, at, fromState, toState, txHash }: LogEntry): void {
    if (fromState !== null && toState !== null && fromState !== toState) {
      states.set(fromState, (states.get(fromState) ?? 0) - 1)
      states.set(toState, (states.get(toState) ?? 0) + 1)
      // The record decides where there is one; see updateSale.
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
        sale.surplus = 'waiting'
        return
      case 'surplus-refunded':
        sale.surplus = null
        return
      case 'surplus-refund-failed':
        sale.surplus = 'failed'
        return
      case 'refund-confirmed':
      case 'refund-proven':
        figures.count('refunded', at, sale.row)
        return
      case 'receipt-lost':
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
    // Payments come first: between two pages everything else gets its turn.
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
      let patience: NodeJS.Timeout | undefined
      const enough = new Promise<void>((done) => {
        patience = setTimeout(done, PATIENCE_MS)
      })
      await Promise.race([pass, enough]).finally(() => clearTimeout(patience))
    },
    reading: () => (pass && total > 0 ? { done: Math.min(log.position(), total), total } : undefined),
    report: (range) => figures.report(range, now()),
    states: () => Object.fromEntries(states),
    find({ q, state, kind, before, limit }) {
      const text = q?.trim().toLowerCase() ?? ''
      const matching = [...sales.values(), ...unpaid.values()]
        .sort((a, b) => b.place - a.place)
        .flatMap(withRow)
        .filter((sale) => {
          return (
            (state === undefined || sale.state === state) &&
            (kind === undefined || sale.row.kind === kind) &&
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
      // Only once until the next look: a busy shop must not push it ahead for ever.
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
