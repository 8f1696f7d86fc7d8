import type {
  AuditEntry,
  BookDay,
  BookDue,
  BookHead,
  BookHours,
  BookRow,
  BookSpans,
  BookTerm,
  ChallengeRow,
  RowBase,
  Step,
  Store,
} from '../../ports.ts'
import { DAY_MS } from '../../protocol/duration.ts'
import { soldIn } from '../../rules/credit-lot.ts'
import {
  awaitsRefund,
  beginsSale,
  countedBy,
  isMoney,
  isRefund,
  isUnpaid,
  trackRefund,
} from '../../rules/sale-events.ts'
import {
  addRevenue,
  asBooked,
  DAYS_REF,
  DUE_REF,
  dayKey,
  dayOf,
  dueKey,
  emptyTally,
  findOrAdd,
  HEAD_KEY,
  HOURS_KEPT_DAYS,
  hourOf,
  hoursKey,
  pageKey,
  spansKey,
  termKey,
} from '../../rules/sales-book.ts'

export type Entry = AuditEntry & { seq: number }
type Head = RowBase & BookHead

/** So many sales of a payer are in one row. */
const SALES_PER_PAGE = 50

export const newHead = (): Head => {
  const base = { key: HEAD_KEY, version: 0, ref: null, dueAt: null }
  return { ...base, kind: 'head', seq: 0, firstDay: 0, lastDay: 0, states: {}, creditsFrom: null }
}

/** The step that enters a page of the log into the book. It moves the head, so that each entry is entered once. */
export async function enterPage(
  store: Pick<Store, 'get' | 'audit'>,
  head: Head,
  entries: readonly Entry[],
  now: number,
): Promise<Step> {
  const sales = entries.filter((entry) => !isUnpaid(entry))
  const ids = [...new Set(sales.map(({ challengeId }) => challengeId))]
  const rows = ids.length === 0 ? [] : await store.get('challenges', ids)
  const rowOf = new Map(rows.flatMap((row): Array<[string, ChallengeRow]> => (row ? [[row.key, row]] : [])))
  const book = await openRows(store, keysOf(entries, sales, rowOf, now))
  const states = { ...head.states }
  const add = (state: ChallengeRow['state'], change: 1 | -1) => {
    states[state] = (states[state] ?? 0) + change
  }
  let { creditsFrom } = head
  const days = entries.map(({ at }) => dayOf(at))
  for (const entry of entries) {
    book.span(entry)
    if (isUnpaid(entry)) continue
    const { challengeId, fromState, toState } = entry
    const row = rowOf.get(challengeId)
    if (soldIn(entry) > 0) creditsFrom ??= entry.seq - 1
    const tallies = book.tallies(entry.at)
    if (await beginsSale(entry, row, (id) => store.audit(id))) {
      for (const tally of tallies) tally.challenges += 1
      add(fromState ?? 'PENDING', 1)
    }
    if (fromState !== null && toState !== null && fromState !== toState) {
      add(fromState, -1)
      add(toState, 1)
    }
    const { step, earned } = countedBy(entry, row)
    for (const tally of tallies) {
      if (step) tally[step] += 1
      if (earned !== 0 && row) addRevenue(tally, row, earned)
    }
    for (const term of termsOf(entry)) book.addTo(term, entry.seq, challengeId)
    if (row) book.follow(entry, row)
  }
  const first = Math.min(...days)
  const moved: Head = {
    ...{ ...head, seq: entries.at(-1)!.seq, states, creditsFrom },
    firstDay: head.seq === 0 ? first : Math.min(head.firstDay, first),
    lastDay: Math.max(head.lastDay, ...days),
  }
  // The head comes last; whatever is in a step is stored together.
  return book.step(moved)
}

/** What one can look it up by: who paid, and every transaction of it. */
function termsOf(entry: Entry): string[] {
  if (!isMoney(entry) && !isRefund(entry)) return []
  const payer = isMoney(entry) ? entry.details?.payer : undefined
  return [...(typeof payer === 'string' ? [payer] : []), ...(entry.txHash ? [entry.txHash] : [])]
}

/**
 * Sales that ended well at once have nothing to return: their rows are not looked for. One that was paid in an earlier page
 * may have a row since then, which its delivery ends.
 */
function mayBeDue(
  { event, challengeId }: Entry,
  row: ChallengeRow | undefined,
  paidHere: ReadonlySet<string>,
): boolean {
  if (row === undefined) return false
  if (row.state !== 'DELIVERED') return true
  if (event === 'delivered') return !paidHere.has(challengeId)
  return event !== 'payment-claimed' && event !== 'paid'
}

function keysOf(
  entries: readonly Entry[],
  sales: readonly Entry[],
  rowOf: ReadonlyMap<string, ChallengeRow>,
  now: number,
): string[] {
  const days = [...new Set(entries.map(({ at }) => dayOf(at)))]
  const paidHere = new Set(
    sales.filter(({ event }) => event === 'paid').map(({ challengeId }) => challengeId),
  )
  const due = sales.filter((entry) => mayBeDue(entry, rowOf.get(entry.challengeId), paidHere))
  return [
    ...days.map(dayKey),
    ...days.map(spansKey),
    ...days.filter((day) => hasHours(day, now)).map(hoursKey),
    ...new Set(sales.flatMap(termsOf).map(termKey)),
    ...new Set(due.map(({ challengeId }) => dueKey(challengeId))),
  ]
}

const hasHours = (day: number, now: number): boolean => day > dayOf(now) - HOURS_KEPT_DAYS

/** The rows of the book that a page changes. */
async function openRows(store: Pick<Store, 'get'>, keys: readonly string[]) {
  const stored = keys.length === 0 ? [] : await store.get('books', keys)
  // Copies: they are changed here.
  const rows = new Map(stored.flatMap((row) => (row ? [[row.key, structuredClone(row)] as const] : [])))
  const wanted = new Set(keys)
  const ended = new Set<string>()

  function open<R extends BookRow>(
    key: string,
    kind: R['kind'],
    made: () => Omit<R, keyof RowBase>,
    base: Partial<RowBase> = {},
  ): R {
    const known = asBooked(rows.get(key), kind)
    if (known) return known as R
    const row = { key, version: 0, ref: null, dueAt: null, ...base, ...made() } as R
    rows.set(key, row)
    return row
  }
  const day = (at: number) =>
    open<RowBase & BookDay>(dayKey(at), 'day', () => ({ kind: 'day', day: at, tally: emptyTally() }), {
      ref: DAYS_REF,
    })

  return {
    /** Whatever its event: exports and webhooks look for all kinds. */
    span({ at, seq }: Entry) {
      const { spans } = open<RowBase & BookSpans>(spansKey(dayOf(at)), 'spans', () => ({
        kind: 'spans',
        spans: [],
      }))
      const hour = { hour: hourOf(at), firstSeq: seq, lastSeq: seq }
      const span = findOrAdd(spans, (one) => one.hour === hour.hour, hour)
      span.firstSeq = Math.min(span.firstSeq, seq)
      span.lastSeq = Math.max(span.lastSeq, seq)
    },
    /** Of the day, and of the hour while charts show it. */
    tallies(at: number) {
      const number = dayOf(at)
      const tallies = [day(number).tally]
      if (!wanted.has(hoursKey(number))) return tallies
      const { hours } = open<RowBase & BookHours>(
        hoursKey(number),
        'hours',
        () => ({ kind: 'hours', day: number, hours: [] }),
        { dueAt: (number + HOURS_KEPT_DAYS) * DAY_MS },
      )
      const hour = { hour: hourOf(at), tally: emptyTally() }
      return [...tallies, findOrAdd(hours, (one) => one.hour === hour.hour, hour).tally]
    },
    addTo(term: string, seq: number, challengeId: string) {
      const row = open<RowBase & BookTerm>(termKey(term), 'term', () => ({
        kind: 'term',
        pages: 0,
        sales: [],
      }))
      if (row.sales.some(([, known]) => known === challengeId)) return
      if (row.sales.length === SALES_PER_PAGE) {
        const key = pageKey(term, row.pages)
        rows.set(key, { key, version: 0, ref: null, dueAt: null, kind: 'page', sales: row.sales })
        row.pages += 1
        row.sales = []
      }
      row.sales.push([seq, challengeId])
    },
    /** Keeps the list of sales that should return money. */
    follow(entry: Entry, row: ChallengeRow) {
      const key = dueKey(row.key)
      if (!wanted.has(key)) return
      const due = open<RowBase & BookDue>(
        key,
        'due',
        () => ({ kind: 'due', challengeId: row.key, refundSince: null, surplus: null }),
        { ref: DUE_REF },
      )
      trackRefund(due, entry, row)
      if (awaitsRefund(due, row.state, row.kind)) ended.delete(key)
      else ended.add(key)
    },
    step(head: Head): Step {
      const all = [...rows.values()]
      const puts = all.filter(({ key }) => !ended.has(key))
      const removes = all.filter(({ key, version }) => ended.has(key) && version > 0)
      return {
        puts: [...puts, head].map((row) => ({ table: 'books' as const, row })),
        removes: removes.map(({ key, version }) => ({ table: 'books' as const, key, version })),
        // The log has it all: what a power cut takes is read again.
        durability: 'deferred',
      }
    },
  }
}
