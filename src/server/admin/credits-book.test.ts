import { expect, test } from 'vitest'
import type { AuditEntry, CreditRow, Store } from '../../ports.ts'
import { figuresOf, lotOfRow } from '../../rules/credit-lot.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createCreditsBook } from './credits-book.ts'
import { exportCredits } from './export-credits.ts'
import { createSalesBook } from './sales-book.ts'

const NOW = Date.UTC(2030, 0, 15, 12)
const HOUR = 3_600_000

const entry = (challengeId: string, event: string, details: AuditEntry['details'] = {}): AuditEntry => ({
  ...{ at: NOW, challengeId, requestId: `r-${challengeId}`, event, actor: 'gateway', details },
  ...{ fromState: event === 'delivered' ? 'PAID' : 'DELIVERED', toState: 'DELIVERED' },
})

const row = (key: string, change: Partial<CreditRow> = {}): CreditRow => ({
  ...{ key, version: 0, ref: '0xaa/basic/default', dueAt: NOW, granted: 50, spent: 20, reserved: [] },
  ...{ expiresAt: NOW + HOUR, network: null, paidOn: 'eip155:84532', txHash: '0x1', requestId: `r-${key}` },
  ...change,
})

async function sell(store: Store, key: string, change: Partial<CreditRow> = {}): Promise<void> {
  const sold = row(key, change)
  await store.commit({
    puts: [{ table: 'credits', row: sold }],
    audit: [entry(key, 'payment-claimed'), entry(key, 'delivered', { credits: sold.granted })],
  })
}

test('every credit sold is spent, reserved, outstanding, expired, refunded or lost', () => {
  const held = [{ id: 'a', credits: 3, until: NOW + 1 }]
  const lots = [
    row('running', { reserved: held }),
    row('lapsed', { reserved: [{ ...held[0]!, until: NOW }] }),
    row('over', { expiresAt: NOW }),
    row('closing', { ended: 'closing', reserved: held }),
    row('closed', { ended: 'closed' }),
    row('lost', { ended: 'lost' }),
  ].map((one) => lotOfRow(one, NOW))
  expect(lots.map(({ status }) => status)).toEqual([
    ...['running', 'running', 'expired', 'closing', 'closed', 'lost'],
  ])
  const { sold, spent, reserved, outstanding, expired, closed, lost, spentUnpaid } = figuresOf(lots)
  expect({ outstanding, expired, closed, lost, spentUnpaid, reserved }).toEqual({
    ...{ outstanding: 27 + 30 + 27, expired: 30, closed: 30, lost: 30, spentUnpaid: 20, reserved: 6 },
  })
  expect(spent + reserved + outstanding + expired + closed + lost).toBe(sold)
})

test('figures come from rows while they are stored, and from the log afterwards', async () => {
  const store = createMemoryStore()
  let now = NOW
  await sell(store, 'a')
  await sell(store, 'b', { ref: '0xbb/pro/default', granted: 1000, spent: 0 })
  const book = createSalesBook(store, { now: () => now })
  const read = async () => {
    await book.refresh()
    await book.credits.refresh()
    return book.credits.report()
  }
  expect(await read()).toMatchObject({
    totals: { lots: 2, sold: 1050, spent: 20, outstanding: 1030 },
    perPlan: [
      { planId: 'pro', sold: 1000 },
      { planId: 'basic', spent: 20 },
    ],
    perWallet: [
      { payer: '0xbb', outstanding: 1000 },
      { payer: '0xaa', outstanding: 30 },
    ],
    wallets: 2,
  })
  // A call is not logged: it shows a moment later.
  const [a] = await store.get('credits', ['a'])
  await store.commit({ puts: [{ table: 'credits', row: { ...a!, spent: 21 } }] })
  expect(await read()).toMatchObject({ totals: { spent: 20 } })
  now += 3_000
  expect(await read()).toMatchObject({ totals: { spent: 21, outstanding: 1029 } })
  // What is logged shows at once.
  const [b] = await store.get('credits', ['b'])
  await store.commit({
    puts: [{ table: 'credits', row: { ...b!, ended: 'closed' } }],
    audit: [entry('b', 'credits-closed', { value: '1' })],
  })
  expect(await read()).toMatchObject({ totals: { outstanding: 29, closed: 1000 } })
  const [last] = await store.get('credits', ['a'])
  await store.commit({
    puts: [],
    removes: [{ table: 'credits', key: 'a', version: last!.version }],
    audit: [entry('a', 'credits-ended', { granted: 50, spent: 21, planId: 'basic', payer: '0xaa' })],
  })
  expect(await read()).toMatchObject({
    totals: { lots: 2, sold: 1050, spent: 21, expired: 29, closed: 1000 },
  })
  expect(book.credits.find({ limit: 10 })).toMatchObject({ found: [{ challengeId: 'b' }], total: 1 })
  expect(book.awaitingRefund(), 'its challenge is not stored here').toEqual([])
})

test('purchases are found by wallet, plan and status, page by page, the newest first', async () => {
  const store = createMemoryStore()
  const credits = createCreditsBook(store, () => NOW)
  for (const key of ['1', '2', '3', '4', '5']) {
    await store.commit({ puts: [{ table: 'credits', row: row(key, key === '2' ? { ended: 'lost' } : {}) }] })
    credits.note({ ...entry(key, 'delivered', { credits: 50 }), seq: Number(key) })
  }
  await credits.refresh()
  const ids = (found: Array<{ challengeId: string }>) => found.map(({ challengeId }) => challengeId).join('')
  const first = credits.find({ limit: 2, q: '0xAA' })
  expect([ids(first.found), first.next, first.total]).toEqual(['54', 4, 5])
  expect(ids(credits.find({ limit: 9, before: 4 }).found)).toBe('321')
  expect(ids(credits.find({ limit: 9, status: 'lost' }).found)).toBe('2')
  expect(ids(credits.find({ limit: 9, q: 'another' }).found)).toBe('')
})

test('100,000 purchases are read in pages, and not again for a while', async () => {
  const rows = Array.from({ length: 100_000 }, (_, index) => row(`lot-${index}`, { version: 1 }))
  const byKey = new Map(rows.map((one) => [one.key, one]))
  let pages = 0
  const store = {
    get: async (_table: string, keys: readonly string[]) => {
      pages += 1
      expect(keys.length).toBeLessThanOrEqual(500)
      return keys.map((key) => byKey.get(key))
    },
  } as unknown as Pick<Store, 'get'>
  let now = NOW
  const credits = createCreditsBook(store, () => now)
  for (const [seq, { key }] of rows.entries())
    credits.note({ ...entry(key, 'delivered', { credits: 50 }), seq })
  while (credits.report().totals.lots < rows.length) await credits.refresh()
  expect(credits.report().totals).toMatchObject({ sold: 5_000_000, spent: 2_000_000 })
  expect(pages).toBe(200)
  now += 1_000
  await credits.refresh()
  expect(pages).toBe(200)
})

test('the export of credits has a line for each purchase, also of those whose row is gone', async () => {
  const store = createMemoryStore()
  await sell(store, 'a', { ended: 'closed' })
  await sell(store, 'none-of-these-is-stored')
  const challenge = {
    ...{ key: 'a', version: 0, ref: null, dueAt: null, resourceId: 'default', network: 'eip155:84532' },
    asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    ...{ amount: '1000000', receipt: 'k' },
  }
  const refund = { key: 'k', version: 0, ref: 'a', dueAt: null, value: '600000', phase: 'DONE' }
  await store.commit({
    puts: [
      { table: 'challenges', row: challenge as never },
      { table: 'refunds', row: { ...refund, rail: 'eip155:84532/0x1/exact', txHash: '0xcc' } as never },
    ],
  })
  const chunks: string[] = []
  for await (const chunk of exportCredits(store, 'jsonl')) chunks.push(chunk)
  expect(JSON.parse(chunks.join(''))).toMatchObject({
    ...{ challengeId: 'a', planId: 'basic', payer: '0xaa', status: 'closed', granted: 50, spent: 20 },
    ...{ outstanding: 0, closed: 30, refundedUsd: '0.60', refundTxHashes: '0xcc', testnet: true },
  })
})
