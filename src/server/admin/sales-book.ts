import { setImmediate as turn } from 'node:timers/promises'
import type { ChallengeRow, Store } from '../../ports.ts'
import { CHALLENGE_STATES } from '../../protocol/access.ts'
import { lastSeq } from '../../rules/last-seq.ts'
import { beginsSale, countedBy, isUnpaid, trackRefund } from '../../rules/sale-events.ts'
import { waitAtMost } from '../wait-at-most.ts'
import { type CreditsBook, createCreditsBook } from './credits-book.ts'
import { type FoundSales, findSales, type SaleQuery, type ShowableSale, withRow } from './find-sales.ts'
import { followLog, type LogEntry, type LogFollower } from './follow-log.ts'
import { newSale, placeOf, type Sale, saleAwaitsRefund, seqOfPlace, updateSale } from './sale.ts'
import { createSaleFigures, type Range, type SaleFigures } from './sale-figures.ts'
import { loadBook } from './stored-book.ts'

/**
 * What was sold: sums for all time and a list of the newest challenges, kept in memory. It begins with the sales book that
 * the gateway's jobs keep, and follows the audit log from there. That is read only when somebody asks.
 */
export interface SalesBook {
  /** Reads what is new, for a second at most; the rest of a long history is read in the background, see `reading`. */
  refresh(): Promise<void>
  reading(): { done: number; total: number } | undefined
  report(range: Range): ReturnType<SaleFigures['report']>
  states(): Record<string, number>
  /** Purchases of credits; call `refresh` of both. */
  credits: CreditsBook
  find(query: SaleQuery): Promise<FoundSales>
  /** Every sale of which money should be refunded and has not been yet. */
  awaitingRefund(): ShowableSale[]
  /** Calls the listener about a second after each change at most, until the returned function is called. */
  watch(listener: (challengeIds: readonly string[]) => void): () => void
  /** Reports a change, so that listeners are called soon. `unpaid` challenges are not in the log: they come only from here. */
  note(unpaid: readonly ChallengeRow[]): void
  close(): void
}

export type ReadStore = Pick<Store, 'get' | 'list' | 'log' | 'audit' | 'onCommitted'>

/** Sales that lists and searches need no store for. */
const KEPT = 1_000
/** Newer ones are kept as well, because the stored book does not have them yet, up to so many. */
const RECENT_MS = 240_000
const KEPT_RECENT = 50_000
/** So many entries of the log before the end of the stored book are read for the list. */
const TAIL = 3_000
/** There are many unpaid challenges, and they must not push sales out of the list. */
const KEPT_UNPAID = 1_000
const REFRESH_LIMIT_MS = 1_000
const SOON_MS = 50
const POLL_MS = 1_000

export function createSalesBook(
  store: ReadStore,
  { kept = KEPT, tail = TAIL, now = Date.now }: { kept?: number; tail?: number; now?: () => number } = {},
): SalesBook {
  const figures = createSaleFigures()
  const credits = createCreditsBook(store, now)
  const sales = new Map<string, Sale>()
  /** Too old for the list, but a refund is still due. */
  const unfinished = new Map<string, Sale>()
  /** Began before those in the list, but were paid or changed after the end of the stored book. */
  const strays = new Map<string, Sale>()
  const unpaid = new Map<string, Sale>()
  const states = new Map<string, number>(CHALLENGE_STATES.map((state) => [state, 0]))
  const watchers = new Set<(ids: readonly string[]) => void>()
  const unsubscribe = store.onCommitted?.(() => book.note([]))
  let log: LogFollower | undefined
  /** Only if credits were sold before the end of the stored book: their own log is read from there. */
  let creditsLog: LogFollower | undefined
  /** Entries up to this one are in the stored book, and not counted again. */
  let booked = 0
  /** Sales that began at or before this entry are not in memory. */
  let floor = 0
  /** Challenges without an entry since the last one that was read. */
  let further = 0
  /** Unpaid ones that came since the log was last read: which of its entries are older is not known yet. */
  let unplaced: Sale[] = []
  let total = 0
  let pass: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let hurried = false
  let closed = false

  async function open(): Promise<LogFollower> {
    const stored = await loadBook(store, now())
    const due = stored?.due ?? []
    const rows =
      due.length === 0
        ? []
        : await store.get(
            'challenges',
            due.map(({ challengeId }) => challengeId),
          )
    if (!stored) return followLog(store, now)
    figures.restore(stored.days, stored.hours)
    for (const [state, count] of Object.entries(stored.states)) addTo(state, count)
    for (const [index, { challengeId, refundSince, surplus, openPayments, owed }] of due.entries()) {
      const row = rows[index]
      if (!row) continue
      const sale = newSale({ challengeId, requestId: row.requestId }, 0)
      updateSale(sale, row)
      Object.assign(sale, {
        ...{ refundSince, surplus },
        ...(openPayments && { openPayments }),
        ...(owed !== undefined && { owed }),
      })
      unfinished.set(challengeId, sale)
    }
    booked = stored.seq
    floor = Math.max(0, stored.seq - tail)
    if (stored.creditsFrom !== null) creditsLog = followLog(store, now, stored.creditsFrom)
    // Those that were opened before anybody asked came after all that is stored.
    for (const sale of unpaid.values()) sale.place = placeOf(stored.seq, further++)
    return followLog(store, now, floor)
  }

  function addTo(state: string, change: number): void {
    states.set(state, (states.get(state) ?? 0) + change)
  }

  function saleOf(entry: LogEntry, begins: boolean): Sale {
    const { challengeId } = entry
    const known = sales.get(challengeId)
    if (known) return known
    // It was open and unpaid until now, or the stored book said that a refund of it is due.
    const open = unpaid.get(challengeId) ?? (begins ? unfinished.get(challengeId) : undefined)
    if (open) {
      unpaid.delete(challengeId)
      unfinished.delete(challengeId)
      open.place = placeOf(entry.seq)
      sales.set(challengeId, open)
      return open
    }
    // An event of a sale that is no longer in the list; it has been counted before.
    if (!begins) {
      const old = unfinished.get(challengeId) ?? strays.get(challengeId) ?? newSale(entry, placeOf(entry.seq))
      unfinished.set(challengeId, old)
      if (entry.seq > booked) strays.set(challengeId, old)
      return old
    }
    const sale = newSale(entry, placeOf(entry.seq))
    sales.set(sale.challengeId, sale)
    if (entry.seq <= booked) return sale
    figures.count('challenges', entry.at, undefined)
    addTo(sale.state, 1)
    return sale
  }

  function move(sale: Sale, entry: LogEntry): void {
    const { event, at, fromState, toState, seq } = entry
    sale.lastSeq = Math.max(sale.lastSeq, seq)
    // Where there is a record, its state counts; see updateSale.
    if (toState !== null && !sale.row) sale.state = toState
    if (event === 'payment-claimed') sale.claimedAt = at
    if (event === 'paid' && sale.claimedAt !== null) figures.sample(at, Math.max(0, at - sale.claimedAt))
    trackRefund(sale, entry, sale.row)
    if (seq <= booked) return
    if (fromState !== null && toState !== null && fromState !== toState) {
      addTo(fromState, -1)
      addTo(toState, 1)
    }
    const { step, earned } = countedBy(entry, sale.row)
    if (step) figures.count(step, at, sale.row)
    if (earned === -1 && sale.row) figures.lose(at, sale.row)
  }

  /** A challenge that this instance opened, or saw end unpaid. */
  function noteUnpaid(row: ChallengeRow): void {
    const known = sales.get(row.key) ?? unpaid.get(row.key)
    const place = placeOf(log?.position() ?? 0, ++further)
    const sale = known ?? newSale({ challengeId: row.key, requestId: row.requestId }, place)
    if (known) addTo(known.state, -1)
    else {
      unpaid.set(row.key, sale)
      unplaced.push(sale)
      figures.count('challenges', row.createdAt, undefined)
      for (const [id, { state }] of unpaid) {
        if (unpaid.size <= KEPT_UNPAID) break
        unpaid.delete(id)
        addTo(state, -1)
      }
    }
    updateSale(sale, row)
    addTo(sale.state, 1)
  }

  /** Unpaid ones that came before this entry, and after the one before it. */
  function placeBefore({ seq, at }: LogEntry): void {
    const later = unplaced.findIndex(({ row }) => (row?.createdAt ?? 0) >= at)
    const sooner = unplaced.splice(0, later === -1 ? unplaced.length : later)
    for (const [index, sale] of sooner.entries())
      if (unpaid.has(sale.challengeId)) sale.place = Math.max(sale.place, placeOf(seq - 1, index + 1))
  }

  /** Unpaid ones that came after all that was read. */
  function placeLast(seq: number): void {
    for (const sale of unplaced)
      if (unpaid.has(sale.challengeId)) sale.place = Math.max(sale.place, placeOf(seq, ++further))
    unplaced = []
  }

  function forgetOldest(): void {
    const recent = now() - RECENT_MS
    for (const [id, sale] of sales) {
      const isRecent = (sale.claimedAt ?? 0) > recent
      if (sales.size <= (isRecent ? KEPT_RECENT : kept)) break
      sales.delete(id)
      floor = Math.max(floor, seqOfPlace(sale.place))
      if (saleAwaitsRefund(sale)) unfinished.set(id, sale)
    }
    for (const [id, sale] of unfinished) if (!saleAwaitsRefund(sale)) unfinished.delete(id)
    for (const id of strays.keys()) {
      if (strays.size <= KEPT) break
      strays.delete(id)
    }
  }

  async function readPage(log: LogFollower): Promise<boolean> {
    const { entries, more } = await log.next()
    if (entries.length > 0) further = 0
    const ids = [...new Set(entries.map(({ challengeId }) => challengeId))]
    const rows = ids.length === 0 ? [] : await store.get('challenges', ids)
    const byId = new Map(rows.flatMap((row): Array<[string, ChallengeRow]> => (row ? [[row.key, row]] : [])))
    for (const entry of entries) {
      placeBefore(entry)
      if (isUnpaid(entry)) continue
      const row = byId.get(entry.challengeId)
      if (!creditsLog && entry.seq > booked) credits.note(entry)
      const sale = saleOf(entry, await beginsSale(entry, row, (id) => store.audit(id)))
      if (row) updateSale(sale, row)
      move(sale, entry)
    }
    if (!more) placeLast(log.position())
    forgetOldest()
    if (ids.length > 0) for (const listener of watchers) listener(ids)
    return more
  }

  async function readAll(): Promise<void> {
    log ??= await open()
    if (total === 0) total = await lastSeq(store, booked)
    await Promise.all([readSales(log), creditsLog && readCredits(creditsLog)])
    total = Math.max(total, log.position())
  }

  async function readSales(log: LogFollower): Promise<void> {
    // Payments are more important: give way to them between two pages.
    while (!closed && (await readPage(log))) await turn()
  }

  async function readCredits(log: LogFollower): Promise<void> {
    for (let more = true; more && !closed; await turn()) {
      const page = await log.next()
      for (const entry of page.entries) if (!isUnpaid(entry)) credits.note(entry)
      more = page.more
    }
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

  const book: SalesBook = {
    async refresh() {
      if (closed) return
      pass ??= readAll().finally(() => {
        pass = undefined
      })
      await waitAtMost(REFRESH_LIMIT_MS, pass)
    },
    reading: () => {
      // Where credits were sold, theirs is the longer way.
      const done = Math.min(log?.position() ?? 0, creditsLog?.position() ?? Number.POSITIVE_INFINITY, total)
      return pass && total > 0 ? { done, total } : undefined
    },
    report: (range) => figures.report(range, now()),
    states: () => Object.fromEntries(states),
    credits,
    find: (query) =>
      findSales(
        store,
        { sales: [...sales.values(), ...unpaid.values()], strays: [...strays.values()], floor, states },
        query,
      ),
    awaitingRefund: () => {
      return [...unfinished.values(), ...sales.values()].filter(saleAwaitsRefund).flatMap(withRow).reverse()
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
