import { beforeEach, expect, test } from 'vitest'
import { MAINNET, TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import type { Backstage, NetworkBalances } from '../../backstage.ts'
import type { AuditEntry, ReceiptRow, RefundRow } from '../../ports.ts'
import { DAY_MS } from '../../protocol/duration.ts'
import type { Network } from '../../protocol/network.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import type { AdminGateway } from './admin-parts.ts'
import { createAdminApi } from './create-admin-api.ts'
import { createSalesBook } from './sales-book.ts'
import { createWalletWatch, type WatchedWallet } from './wallet-watch.ts'

const OTHER_PAYER = `0x${'bb'.repeat(20)}` as const
/** A network that the seller describes, with a token of eighteen decimals. */
const CUSTOM: Network = {
  ...TESTNET,
  id: 'eip155:990001',
  chainId: 990_001,
  name: 'Custom',
  token: { ...TESTNET.token, address: `0x${'da'.repeat(20)}`, symbol: 'DAIX', decimals: 18 },
}
const E12 = '000000000000'

let holds: Map<string, bigint>
let store: ReturnType<typeof createMemoryStore>
beforeEach(() => {
  holds = new Map()
  store = createMemoryStore()
})

/** The answers of the operator's API of a seller on these networks. */
function operator(networks: Network[], now = 9) {
  const balances = async () =>
    networks.map((network): NetworkBalances => {
      const usdcMicro = holds.get(network.id) ?? 0n
      return { network, wallets: [{ role: 'refund', address: '0x2', usdcMicro }] }
    })
  const backstage = { store, networks, balances, rails: () => [] } as unknown as Backstage
  const api = createAdminApi({
    gateway: { backstage } as unknown as AdminGateway,
    book: createSalesBook(store, { now: () => now }),
    wallets: createWalletWatch(backstage),
    alerts: { list: () => [], raise: () => undefined, clear: () => undefined },
  })
  return async (path: string): Promise<unknown> => {
    const url = new URL(`http://localhost/admin/api${path}`)
    return (await api(new Request(url), url.pathname))!.json()
  }
}

const entryOf = (event: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
  ...{ at: 5, challengeId: 'http-1', requestId: 'r', event, actor: 'gateway' },
  ...{ fromState: 'DELIVERED', toState: 'DELIVERED', ...more },
})
const SOLD = [
  entryOf('payment-claimed', { fromState: 'PENDING', toState: 'PENDING' }),
  entryOf('paid', { fromState: 'PENDING', toState: 'PAID' }),
  entryOf('delivered', { fromState: 'PAID' }),
]

/** A delivered sale of one dollar, with these refunds. */
async function sell(
  network: Network,
  { refunds, audit }: { refunds: Array<Partial<RefundRow>>; audit: AuditEntry[] },
): Promise<void> {
  const rail = testRail({ network })
  const sale = {
    key: 'http-1',
    state: 'DELIVERED',
    amount: '1000000',
    payer: PAYER,
    receipt: 'main',
  } as const
  const base = {
    ...{ key: 'main', version: 0, ref: 'http-1', dueAt: null, challengeId: 'http-1', recipient: PAYER },
    ...{ rail: rail.id, movesState: false, auth: null, attempts: 0, fromHeight: 1, walletTx: null },
    ...({ txHash: null, phase: 'WAITING', reason: null, value: '1' } as const),
  }
  const hash = `0x${'ab'.repeat(32)}` as const
  const receipt: ReceiptRow = {
    ...{ key: 'main', version: 0, ref: 'http-1', dueAt: null, challengeId: 'http-1', rail: rail.id },
    ...{ source: { kind: 'payment' }, role: 'pays', payer: PAYER, value: '1', txHash: hash, logIndex: 1 },
    ...{ blockNumber: 10, blockHash: hash, fromHeight: 5, finalized: true, lost: false },
  }
  await store.commit({
    puts: [
      { table: 'challenges', row: testChallenge(sale, { rail }) },
      { table: 'receipts', row: receipt },
      ...refunds.map((refund) => ({ table: 'refunds' as const, row: { ...base, ...refund } })),
    ],
    audit: [...SOLD, ...audit],
  })
}

const walletsIn = (overview: unknown) =>
  (overview as { wallets: WatchedWallet[] }).wallets.map(({ network, level }) => [network, level])

test('each payment of a sale that goes back is an item, with its own value, payer and standing', async () => {
  const [a, b] = [{ payment: 'a' }, { payment: 'b' }].map((details) => ({ details }))
  const failed = { phase: 'FAILED', reason: 'blacklisted', attempts: 5, recipient: OTHER_PAYER } as const
  await sell(TESTNET, {
    refunds: [
      { key: 'a', value: '1000000' },
      { key: 'b', value: '3000000', ...failed },
      { key: 'c', value: '7000000', phase: 'DONE' },
    ],
    audit: [
      entryOf('surplus-received', a),
      entryOf('surplus-received', b),
      entryOf('surplus-refund-failed', b),
    ],
  })
  const ask = operator([TESTNET])
  expect(await ask('/refunds')).toMatchObject({
    items: [
      { usd: '$1.00', payer: PAYER, failed: false, surplus: true, reason: null },
      { usd: '$3.00', payer: OTHER_PAYER, failed: true, surplus: true, reason: 'blacklisted', attempts: 5 },
    ],
  })
  holds.set(TESTNET.id, 3_999_999n)
  const overview = await ask('/overview')
  expect(overview).toMatchObject({ refunds: { waiting: 1, failed: 1 } })
  expect(walletsIn(overview), 'a cent short of both').toEqual([[TESTNET.id, 'error']])
})

test('unspent credits in a token of other decimals are owed in dollars', async () => {
  await sell(CUSTOM, {
    refunds: [{ key: 'main', value: `600000${E12}` }],
    audit: [entryOf('credits-closed', { details: { value: `600000${E12}` } })],
  })
  const ask = operator([CUSTOM])
  holds.set(CUSTOM.id, 600_000n)
  expect(walletsIn(await ask('/overview'))).toEqual([[CUSTOM.id, 'ok']])
  expect(await ask('/refunds')).toMatchObject({
    items: [{ credits: true, surplus: false, micro: '600000', usd: '$0.60' }],
  })
})

test.each(['credits-refunded', 'credits-refund-proven'])(
  'what went back for closed credits is told beside the revenue, which keeps the sale: %s',
  async (event) => {
    await sell(CUSTOM, {
      refunds: [{ key: 'main', value: `600000${E12}`, phase: 'DONE' }],
      audit: [entryOf('credits-closed', { details: { value: `600000${E12}` } }), entryOf(event)],
    })
    const ask = operator([CUSTOM])
    for (const range of ['24h', '7d', '30d', 'all']) {
      expect(await ask(`/overview?range=${range}`), range).toMatchObject({
        revenue: { usd: '$1.00', returned: { micro: '600000', usd: '$0.60' } },
        refunds: { waiting: 0, failed: 0 },
      })
    }
  },
)

test('what went back before the range is not told in it', async () => {
  await sell(TESTNET, {
    refunds: [{ key: 'main', value: '600000', phase: 'DONE' }],
    audit: [entryOf('credits-closed', { details: { value: '600000' } }), entryOf('credits-refunded')],
  })
  const ask = operator([TESTNET], 40 * DAY_MS)
  const revenue = async (range: string) =>
    ((await ask(`/overview?range=${range}`)) as { revenue: { returned?: unknown } }).revenue
  expect((await revenue('30d')).returned).toBeUndefined()
  expect(await revenue('all')).toMatchObject({ returned: { usd: '$0.60' } })
})

test('a second payment on another network is owed there', async () => {
  await sell(TESTNET, {
    refunds: [{ key: 'a', value: '2000000', rail: testRail({ network: MAINNET }).id }],
    audit: [entryOf('surplus-received', { details: { payment: 'a' } })],
  })
  const ask = operator([TESTNET, MAINNET])
  expect(walletsIn(await ask('/overview'))).toEqual([
    [TESTNET.id, 'ok'],
    [MAINNET.id, 'error'],
  ])
  expect(await ask('/refunds')).toMatchObject({ items: [{ network: MAINNET.id, usd: '$2.00' }] })
})
