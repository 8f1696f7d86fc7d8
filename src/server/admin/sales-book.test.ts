import { expect, test } from 'vitest'
import type { AuditEntry, ChallengeRow, Store } from '../../ports.ts'
import type { ChallengeState } from '../../protocol/access.ts'
import { HOUR_MS } from '../../protocol/duration.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createSalesBook } from './sales-book.ts'

const NOW = Date.UTC(2030, 0, 15, 12, 30)

function row(key: string, state: ChallengeState, change: Partial<ChallengeRow> = {}): ChallengeRow {
  return {
    ...{ key, version: 0, ref: null, dueAt: null, requestId: `r-${key}`, transport: 'http', kind: 'plan' },
    ...{ itemId: 'basic', resourceId: 'default', resource: null, fingerprint: '', amount: '2500000' },
    ...{ network: 'eip155:84532', asset: '0xa', payTo: '0xb', clientAgentId: null, state, createdAt: NOW },
    ...{ expiresAt: NOW, claimed: true, liveAuth: null, receipt: null, payer: '0xPayer', txHash: null },
    ...{ paidAt: null, leaseUntil: null, deliveryTries: 0, failure: null, result: null, refundTxHash: null },
    ...change,
  } as ChallengeRow
}

/** Stores the events of a challenge and its record. */
async function live(
  store: Store,
  key: string,
  steps: Array<[event: string, at: number, toState: ChallengeState]>,
  change: Partial<ChallengeRow> = {},
): Promise<void> {
  let fromState: ChallengeState = 'PENDING'
  const audit = steps.map(([event, at, toState]): AuditEntry => {
    const entry = { at, challengeId: key, requestId: `r-${key}`, event, fromState, toState }
    fromState = toState
    return { ...entry, actor: 'gateway' }
  })
  const [known] = await store.get('challenges', [key])
  const next = { ...row(key, fromState, change), version: known?.version ?? 0 }
  await store.commit({ puts: [{ table: 'challenges', row: next }], audit })
}

const sold = (at: number): Array<[string, number, ChallengeState]> => [
  ['payment-claimed', at - 2000, 'PENDING'],
  ['paid', at, 'PAID'],
  ['delivered', at, 'DELIVERED'],
]

test('figures are counted by hour and day, and only delivered sales are revenue', async () => {
  const store = createMemoryStore()
  await live(store, 'a', sold(NOW - 1000))
  await live(store, 'b', sold(NOW - 30 * HOUR_MS), {
    ...{ kind: 'route', itemId: 'weather', amount: '10', network: 'eip155:421614' },
  })
  await live(store, 'c', sold(NOW - 40 * 24 * HOUR_MS))
  await live(store, 'd', [
    ['payment-claimed', NOW - 9000, 'PENDING'],
    ['paid', NOW - 5000, 'PAID'],
    ['delivery-failed', NOW - 5000, 'REFUND_PENDING'],
    ['refund-confirmed', NOW - 100, 'REFUNDED'],
  ])
  const book = createSalesBook(store, { now: () => NOW })
  await book.refresh()
  expect(book.report('24h')).toMatchObject({
    funnel: { challenges: 2, paid: 2, delivered: 1, refunded: 1 },
    revenue: { micro: '2500000', usd: '$2.50' },
    latencyMs: { p50: 2000, p95: 4000, samples: 2 },
  })
  expect(book.report('24h').series).toHaveLength(24)
  expect(book.report('24h').series.at(-1)).toMatchObject({
    at: '2030-01-15T12:00:00.000Z',
    paid: 2,
    micro: '2500000',
  })
  expect(book.report('7d')).toMatchObject({
    funnel: { paid: 3, delivered: 2 },
    revenue: {
      perItem: [
        { id: 'basic', sold: 1 },
        { kind: 'route', id: 'weather', sold: 1, usd: '$0.00001' },
      ],
      perNetwork: [
        { network: 'eip155:84532', sold: 1, usd: '$2.50' },
        { network: 'eip155:421614', sold: 1, usd: '$0.00001' },
      ],
    },
  })
  const onArbitrum = (await book.find({ network: 'eip155:421614', limit: 9 })).found
  expect(onArbitrum.map(({ challengeId }) => challengeId)).toEqual(['b'])
  expect(book.report('7d').series).toHaveLength(28)
  expect(book.report('7d').series.at(-1)?.at).toBe('2030-01-15T12:00:00.000Z')
  expect(book.report('30d').funnel).toEqual(book.report('7d').funnel)
  const all = book.report('all')
  expect(all.funnel).toEqual({ challenges: 4, paid: 4, delivered: 3, refunded: 1 })
  expect(all.series).toHaveLength(41)
  expect(book.states()).toMatchObject({ DELIVERED: 3, REFUNDED: 1, PENDING: 0, PAID: 0 })
})

test('a challenge that ended unpaid is not listed as a sale, unless the operator cancelled it', async () => {
  const store = createMemoryStore()
  const facts = { at: NOW, requestId: 'r', fromState: 'PENDING' as const }
  const created = { ...facts, event: 'created', fromState: null, toState: 'PENDING', actor: 'buyer' } as const
  const expired = { ...facts, event: 'expired', toState: 'EXPIRED', actor: 'gateway' } as const
  const cancelled = { ...facts, event: 'cancelled', toState: 'CANCELLED', actor: 'operator' } as const
  await live(store, 'sold', sold(NOW - 1000))
  const audit: AuditEntry[] = [
    { ...created, challengeId: 'forgotten' },
    { ...expired, challengeId: 'forgotten', details: { unpaid: true } },
    { ...created, challengeId: 'by-hand' },
    { ...cancelled, challengeId: 'by-hand' },
  ]
  const closed = row('by-hand', 'CANCELLED', { claimed: false })
  await store.commit({ puts: [{ table: 'challenges', row: closed }], audit })
  const book = createSalesBook(store, { now: () => NOW })
  await book.refresh()
  const { found } = await book.find({ limit: 10 })
  expect(found.map(({ challengeId }) => challengeId)).toEqual(['by-hand', 'sold'])
  expect(book.states()).toMatchObject({ DELIVERED: 1, CANCELLED: 1, EXPIRED: 0, PENDING: 0 })
  expect(book.report('all').funnel.challenges).toBe(2)
})

test('reading again counts nothing twice and shows changes', async () => {
  const store = createMemoryStore()
  await live(store, 'a', [['payment-claimed', NOW, 'PENDING']])
  const book = createSalesBook(store, { now: () => NOW })
  await book.refresh()
  await book.refresh()
  expect((await book.find({ limit: 9 })).found).toMatchObject([{ state: 'PENDING' }])
  await live(store, 'a', sold(NOW), { txHash: '0xFeed' })
  const told: string[] = []
  const unwatch = book.watch((ids) => void told.push(...ids))
  await book.refresh()
  unwatch()
  expect(told).toEqual(['a'])
  const { found } = await book.find({ q: 'feed', limit: 9 })
  expect(found).toMatchObject([{ challengeId: 'a', state: 'DELIVERED' }])
  expect(book.report('24h').funnel).toEqual({ challenges: 1, paid: 1, delivered: 1, refunded: 0 })
  book.close()
})

test('memory is bounded: old sales are listed from the store, and count in the sums and in the refunds due', async () => {
  const store = createMemoryStore()
  await live(store, 'owed', [
    ['payment-claimed', NOW, 'PENDING'],
    ['paid', NOW, 'PAID'],
    ['delivery-failed', NOW, 'REFUND_PENDING'],
  ])
  for (let index = 0; index < 50; index++) await live(store, `s${index}`, sold(NOW))
  const book = createSalesBook(store, { now: () => NOW, kept: 10 })
  await book.refresh()
  const first = await book.find({ limit: 8 })
  expect(first).toMatchObject({ total: 51 })
  const second = await book.find({ limit: 40, before: first.next! })
  const last = await book.find({ limit: 40, before: second.next! })
  expect(last.next).toBeNull()
  const listed = [first, second, last].flatMap(({ found }) => found.map(({ challengeId }) => challengeId))
  expect(listed).toEqual([...Array.from({ length: 50 }, (_, index) => `s${49 - index}`), 'owed'])
  expect(book.report('all').funnel).toMatchObject({ challenges: 51, paid: 51, delivered: 50 })
  expect(book.awaitingRefund()).toMatchObject([{ challengeId: 'owed' }])
  // Events of old sales: they are not counted as new sales, and leave the book when they end.
  const owed = { fromState: 'REFUND_PENDING', toState: 'REFUNDED', actor: 'gateway' } as const
  const old = { fromState: 'DELIVERED', toState: 'DELIVERED', actor: 'gateway' } as const
  const [stored] = await store.get('challenges', ['owed'])
  await store.commit({
    puts: [{ table: 'challenges', row: { ...stored!, state: 'REFUNDED' } }],
    audit: [
      { at: NOW, challengeId: 'owed', requestId: 'r', event: 'refund-confirmed', ...owed },
      { at: NOW, challengeId: 's1', requestId: 'r', event: 'pruned', ...old },
    ],
  })
  await book.refresh()
  expect(book.awaitingRefund()).toEqual([])
  expect((await book.find({ limit: 100 })).total).toBe(51)
  expect(book.report('all').funnel).toEqual({ challenges: 51, paid: 51, delivered: 50, refunded: 1 })
  expect(book.states()).toMatchObject({ DELIVERED: 50, REFUNDED: 1, REFUND_PENDING: 0 })
})

test('a long history is read in the background, and the progress is shown', async () => {
  const store = createMemoryStore()
  const audit = Array.from({ length: 5000 }, (_, index): AuditEntry => {
    const ids = { challengeId: `c${index}`, requestId: 'r', event: 'payment-claimed' }
    return { at: 0, ...ids, fromState: 'PENDING', toState: 'PENDING', actor: 'buyer' }
  })
  await store.commit({ puts: [], audit })
  let letOn = () => {}
  const gate = new Promise<void>((open) => {
    letOn = open
  })
  const log: Store['log'] = async (afterSeq, limit) => {
    if (afterSeq === 2000 && limit > 1) await gate
    return store.log(afterSeq, limit)
  }
  const book = createSalesBook({ ...store, log })
  // refresh() resolves after its limit, with what has been read so far.
  await book.refresh()
  expect(book.reading()).toEqual({ done: 2000, total: 5000 })
  expect(book.report('all').funnel.challenges).toBe(2000)
  letOn()
  await book.refresh()
  expect(book.reading()).toBeUndefined()
  expect(book.report('all').funnel.challenges).toBe(5000)
  expect((await book.find({ limit: 10 })).found, 'forgotten ones are in no list').toEqual([])
})
