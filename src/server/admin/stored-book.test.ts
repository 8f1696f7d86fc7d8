import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBookKeeper, enterNext } from '../../engine/books/keep-book.ts'
import type { AuditEntry, ChallengeRow, Store } from '../../ports.ts'
import type { ChallengeState } from '../../protocol/access.ts'
import { DAY_MS } from '../../protocol/duration.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { sampleRow } from '../../testing/store-rows.ts'
import { exportSales } from './export-sales.ts'
import { logBetween } from './log-between.ts'
import { readLedger } from './read-ledger.ts'
import { createSalesBook } from './sales-book.ts'
import { loadBook } from './stored-book.ts'

const NOW = Date.UTC(2030, 5, 15, 12, 30)
const payer = (number: number) => `0x${String(number).padStart(40, 'a')}` as const
const hash = (number: number) => `0x${String(number).padStart(64, 'b')}` as const

/** How a sale may go on from a state: the event, and the state after it. */
const WAYS: Partial<Record<ChallengeState, Array<[event: string, to: ChallengeState]>>> = {
  PENDING: [
    ['payment-claimed', 'PENDING'],
    ['paid', 'PAID'],
    ['late-money', 'REFUND_PENDING'],
    ['expired', 'EXPIRED'],
  ],
  PAID: [
    ['delivered', 'DELIVERED'],
    ['delivery-failed', 'REFUND_PENDING'],
    ['backend-failed', 'PAID'],
  ],
  DELIVERED: [
    ['surplus-received', 'DELIVERED'],
    ['surplus-refunded', 'DELIVERED'],
    ['surplus-refund-failed', 'DELIVERED'],
    ['receipt-lost', 'PENDING'],
    ['pruned', 'DELIVERED'],
  ],
  REFUND_PENDING: [
    ['refund-confirmed', 'REFUNDED'],
    ['refund-failed', 'REFUND_FAILED'],
  ],
  REFUND_FAILED: [['refund-proven', 'REFUNDED']],
}

/** Stores one more event of a sale, with its record. */
async function happen(store: Store, number: number, choice: number, at: number): Promise<void> {
  const key = `c${number}`
  const [known] = await store.get('challenges', [key])
  const fromState = known?.state ?? 'PENDING'
  const ways = known ? WAYS[fromState] : [['payment-claimed', 'PENDING'] as const]
  if (!ways) return
  const [event, toState] = ways[choice % ways.length]!
  const entry: AuditEntry = {
    ...{ at, challengeId: key, requestId: `r${number}`, event, fromState, toState, actor: 'gateway' },
    ...(event !== 'payment-claimed' && {
      txHash: hash(number),
      details: { payer: payer(number % 3), payment: `payment${choice % 2}` },
    }),
  }
  const row: ChallengeRow = {
    ...(known ?? sampleRow('challenges', { key })),
    ...{ requestId: `r${number}`, kind: number % 2 ? 'plan' : 'route', itemId: `item${number % 2}` },
    ...{ amount: String(10 + number), state: toState, claimed: true, createdAt: at },
    tries: (known?.tries ?? 0) + (event === 'payment-claimed' ? 1 : 0),
    ...(toState !== 'PENDING' &&
      toState !== 'EXPIRED' && { payer: payer(number % 3), txHash: hash(number), paidAt: at }),
  }
  await store.commit({ puts: [{ table: 'challenges', row }], audit: [entry] })
}

/** One sale was claimed before the tail of the log and within it, and paid after the end of the stored book. */
const TWICE_CLAIMED = (() => {
  const claim = (sale: number) => ({ sale, choice: 0, daysAgo: 0, enter: 0 })
  const events = [claim(12), claim(12), claim(0), claim(0), claim(0), claim(0)]
  return [[...events, { sale: 12, choice: 1, daysAgo: 0, enter: 1 }], 5, 0] as [typeof events, number, number]
})()

const enter = (store: Store, at: number) =>
  enterNext({ store, clock: createFakeClock(at) }, Number.POSITIVE_INFINITY)
const mustBeSilent = { raise: (_kind: string, message: string) => expect.fail(message) }
/** The same records without the stored book: whoever opens it reads the whole log. */
const withoutBook = (store: Store): Store => ({
  ...store,
  get: async (table, keys) => (table === 'books' ? keys.map(() => undefined) : store.get(table, keys)),
})

async function shown(store: Store, options: { tail?: number; kept?: number } = {}) {
  const book = createSalesBook(store, { now: () => NOW, ...options })
  await book.refresh()
  const listed: string[] = []
  for (let before: number | undefined, more = true; more; ) {
    const { found, next } = await book.find({ limit: 7, before })
    listed.push(...found.map(({ challengeId, state }) => `${challengeId} ${state}`))
    before = next ?? undefined
    more = next !== null
  }
  const ranges = (['24h', '7d', '30d', 'all'] as const).map((range) => {
    const { latencyMs: _latency, ...figures } = book.report(range)
    return figures
  })
  const awaiting = book.awaitingRefund().map(({ challengeId, state, refundSince, surplus }) => {
    return { challengeId, state, refundSince, surplus }
  })
  awaiting.sort((a, b) => (a.challengeId < b.challengeId ? -1 : 1))
  const ofPayers = []
  for (const number of [0, 1, 2]) {
    const { found } = await book.find({ q: payer(number), limit: 500 })
    ofPayers.push(found.map(({ challengeId }) => challengeId).sort())
  }
  book.close()
  return { listed, ranges, states: book.states(), awaiting, ofPayers }
}

async function exported(store: Store, from: number, to: number): Promise<string> {
  let text = ''
  for await (const chunk of exportSales(store, 'csv', { from, to })) text += chunk
  return text
}

test('figures, lists, searches, refunds due and exports are those of the whole log, wherever the stored book ends', async () => {
  const event = fc.record({ sale: fc.nat(25), choice: fc.nat(11), daysAgo: fc.nat(60), enter: fc.nat(9) })
  await fc.assert(
    fc.asyncProperty(
      ...([fc.array(event, { minLength: 1, maxLength: 150 }), fc.nat(40), fc.nat(12)] as const),
      async (events, tail, kept) => {
        const store = createMemoryStore()
        for (const { sale, choice, daysAgo, enter: enterNow } of events) {
          await happen(store, sale, choice, NOW - daysAgo * DAY_MS - 200_000)
          if (enterNow === 0) await enter(store, NOW)
        }
        const whole = await shown(withoutBook(store))
        expect(await shown(store, { tail })).toEqual(whole)
        const { ofPayers: _paid, ...rest } = await shown(store, { tail, kept: kept + 1 })
        expect(whole).toMatchObject(rest)
        while ((await enter(store, NOW)) > 0);
        expect(await shown(store, { tail, kept: kept + 1 })).toEqual(whole)
        const [from, to] = [NOW - 20 * DAY_MS, NOW - 5 * DAY_MS]
        expect(await exported(store, from, to)).toBe(await exported(withoutBook(store), from, to))
      },
    ),
    { numRuns: 150, examples: [TWICE_CLAIMED] },
  )
})

test('each entry is entered once, by however many instances, and only when nothing can appear before it', async () => {
  const store = createMemoryStore()
  for (let number = 0; number < 1200; number++) await happen(store, number, 0, NOW - 10 * DAY_MS)
  const clock = createFakeClock(NOW)
  const keepers = [1, 2, 3].map(() => createBookKeeper({ store, clock, alerts: mustBeSilent }))
  const keepFor = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 10) {
      await Promise.all(keepers.map((keep) => keep()))
      await clock.advance(10_000)
    }
  }
  const head = async () => (await store.get('books', ['head']))[0]
  await keepFor(60)
  await happen(store, 5000, 0, clock.now())
  await keepFor(60)
  expect(await head(), 'nothing was seen for two minutes').toBeUndefined()
  await keepFor(30)
  expect(await head()).toMatchObject({ seq: 1200, states: { PENDING: 1200 } })
  await keepFor(60)
  expect(await head()).toMatchObject({ seq: 1201, states: { PENDING: 1201 } })
})

test.each([
  ['clocks that are ten minutes behind', -600_000, 0],
  ['claims that are logged when they are sent, an hour later', -3_600_000, 0],
  ['a clock here that steps by two minutes', 0, 120_000],
])('no entry is passed over that appears after one with a higher number: %s', async (_name, late, step) => {
  const store = createMemoryStore()
  for (let number = 0; number < 5; number++) await happen(store, number, 0, NOW + late)
  let hidden = 4
  const log: Store['log'] = async (after, limit) =>
    (await store.log(after, limit)).filter(({ seq }) => seq !== hidden)
  const clock = createFakeClock(NOW)
  const keep = createBookKeeper({ store: { ...store, log }, clock, alerts: mustBeSilent })
  await keep()
  await clock.advance(1_000 + step)
  await keep()
  // Its transaction is committed only now.
  hidden = 0
  for (let second = 0; second < 180; second += 10) {
    await clock.advance(10_000)
    await keep()
  }
  expect((await store.get('books', ['head']))[0]).toMatchObject({ seq: 5, states: { PENDING: 5 } })
})

test('a failed call that is delivered after all leaves no row behind in the list of refunds due', async () => {
  const store = createMemoryStore()
  const sale = { challengeId: 'c', requestId: 'r', actor: 'gateway' } as const
  const put = async (state: ChallengeState, entries: Array<[event: string, from: ChallengeState]>) => {
    const [known] = await store.get('challenges', ['c'])
    const row = { ...(known ?? sampleRow('challenges', { key: 'c' })), kind: 'route' as const, state }
    await store.commit({
      puts: [{ table: 'challenges', row }],
      audit: entries.map(([event, fromState]) => ({ ...sale, at: NOW, event, fromState, toState: state })),
    })
    while ((await enter(store, NOW)) > 0);
  }
  const due = () => store.list('books', 'due')
  await put('PAID', [
    ['paid', 'PENDING'],
    ['backend-failed', 'PAID'],
  ])
  expect(await due()).toHaveLength(1)
  await put('DELIVERED', [['delivered', 'PAID']])
  expect(await due()).toEqual([])
})

test('a book that changes while it is read is read again, and never shown half', async () => {
  const store = createMemoryStore()
  let sold = 0
  const sell = async () => {
    await happen(store, sold++, 0, NOW - DAY_MS)
    await enter(store, NOW)
  }
  /** So many reads find the book changed. */
  const changing = (times: number): Store => ({
    ...store,
    list: async (table, ref) => {
      const rows = await store.list(table, ref)
      if (times-- > 0) await sell()
      return rows
    },
  })
  await sell()
  const read = await loadBook(changing(2), NOW)
  expect(read).toMatchObject({ seq: sold, states: { PENDING: sold } })
  expect(read?.days.map(({ tally }) => tally.challenges)).toEqual([sold])
  await expect(loadBook(changing(100), NOW)).rejects.toThrow('changes faster than it can be read')
})

test('an export of a day reads that day and what is not in the book yet, not the whole log', async () => {
  const store = createMemoryStore()
  for (let number = 0; number < 3000; number++) {
    await happen(store, number, 0, NOW - 100 * DAY_MS + number * 1_000_000)
    if (number % 400 === 0) await enter(store, NOW)
  }
  while ((await enter(store, NOW)) > 0);
  let read = 0
  const counting: Store = {
    ...store,
    async log(afterSeq, limit) {
      const page = await store.log(afterSeq, limit)
      read += page.length
      return page
    },
  }
  const from = NOW - 90 * DAY_MS
  let found = 0
  for await (const page of logBetween(counting, { from, to: from + DAY_MS })) found += page.length
  expect(found).toBe(87)
  expect(read).toBeLessThanOrEqual(500)
})

test('all sales of a payer are found, the newest first, however many rows of the book they fill', async () => {
  const store = createMemoryStore()
  for (let number = 0; number < 390; number += 3)
    for (const choice of [0, 1]) await happen(store, number, choice, NOW - DAY_MS)
  while ((await enter(store, NOW)) > 0);
  const book = createSalesBook(store, { now: () => NOW, kept: 10, tail: 20 })
  await book.refresh()
  const found: string[] = []
  for (let before: number | undefined, more = true; more; ) {
    const page = await book.find({ q: payer(0).toUpperCase().replace('X', 'x'), limit: 25, before })
    found.push(...page.found.map(({ challengeId }) => challengeId))
    before = page.next ?? undefined
    more = page.next !== null
  }
  expect(found).toEqual(Array.from({ length: 130 }, (_, index) => `c${(129 - index) * 3}`))
  expect((await book.find({ q: hash(3), limit: 9 })).found).toMatchObject([{ challengeId: 'c3' }])
})

test('a search for another text looks at the newest sales, and further back when it is asked to go on', async () => {
  const store = createMemoryStore()
  for (let number = 0; number < 60; number++) await happen(store, number, 0, NOW - DAY_MS)
  while ((await enter(store, NOW)) > 0);
  const book = createSalesBook(store, { now: () => NOW, kept: 5, tail: 5 })
  await book.refresh()
  const first = await book.find({ q: 'r7', limit: 9 })
  expect(first).toMatchObject({ found: [], total: null })
  const second = await book.find({ q: 'r7', limit: 9, before: first.next! })
  expect(second).toMatchObject({ found: [{ challengeId: 'c7' }], next: null })
})

test('an export and a ledger let everything else run between every few sales', async () => {
  const store = createMemoryStore()
  for (let number = 0; number < 600; number++)
    for (const choice of [0, 1]) await happen(store, number, choice, NOW - DAY_MS)
  for (const lines of [exportSales(store, 'csv'), readLedger(store)]) {
    let turns = 0
    let isOver = false
    const count = () => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    for await (const line of lines) expect(line).toBeTruthy()
    isOver = true
    expect(turns).toBeGreaterThanOrEqual(12)
  }
})
