import { describe, expect, test } from 'vitest'
import { testPorts } from '../../../test/engine/test-core.ts'
import { testPayment } from '../../../test/engine/test-payment.ts'
import { MAINNET, SELLER, TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { PAYER, testChallenge } from '../../../test/engine/test-rows.ts'
import type { Backend, Rail, TransferTx } from '../../ports.ts'
import type { Hex } from '../../protocol/hex.ts'
import { buildCatalog } from '../../rules/catalog.ts'
import { routeSubject } from '../../rules/terms.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import type { EngineConfig } from '../core.ts'
import { createEngine } from '../engine.ts'

const OTHER_SELLER = `0x${'77'.repeat(20)}` as const
const txHash = `0x${'7a'.repeat(32)}` as const
const signature = '0x51'
const block = { number: 9, hash: '0xb9', timestamp: 400 } as const
const found: TransferTx = {
  txHash,
  sender: PAYER,
  block,
  transfers: [{ logIndex: 3, from: PAYER, to: OTHER_SELLER, value: '1000000' }],
}

async function open(
  transfers = found.transfers,
  signedBy: 'key' | 'code' = 'key',
  more: Partial<EngineConfig> = {},
) {
  const settlement = { unavailable: async () => undefined }
  const chain = { head: async () => ({ latest: block, finalized: block }) }
  const asked: string[] = []
  const hasSigned: Rail['hasSigned'] = async (sender, _text, _signature, mayAskCode = () => true) => {
    asked.push(sender)
    return signedBy === 'key' || mayAskCode()
  }
  const preferred = testRail({
    settlement,
    chain,
    hasSigned,
    transfers: async () => ({ at: block, found: undefined }),
    scheme: {
      verify: async (signed) => ({ signed, byKey: true }),
      simulate: async () => ({ at: block, results: [{ kind: 'fails', reason: 'insufficient_funds' }] }),
    },
  })
  const other = testRail({
    network: MAINNET,
    payTo: OTHER_SELLER,
    settlement,
    chain,
    hasSigned,
    transfers: async () => ({ at: block, found: { ...found, transfers } }),
  })
  const { ports, config } = testPorts({ clock: createFakeClock(500_000), rails: [preferred, other] })
  const delivery = {
    instant: true,
    deliver: async () => ({ kind: 'delivered' as const, sealed: 'x', expiresAt: null }),
    open: async () => ({ accessToken: 't' }) as never,
    expiryOf: () => null,
  }
  const engine = createEngine({ ...ports, delivery }, { ...config, ...more })
  for (const key of ['a2a-1', 'a2a-2']) {
    const facts = { key, amount: '1000000', createdAt: 300_000, expiresAt: 900_000, payTo: SELLER }
    await ports.store.commit({ puts: [{ table: 'challenges', row: testChallenge(facts) }] })
  }
  const prove = (challengeId: string, network?: string) =>
    engine.purchase({
      transport: 'a2a',
      challengeId,
      proof: { txHash, signature, ...(network && { network }) },
    })
  return { store: ports.store, engine, preferred, other, prove, asked }
}

test('a transfer is taken on the network that its proof names, to the recipient there, and once', async () => {
  const { store, other, prove } = await open()
  expect(
    await prove('a2a-1'),
    'without a network it is looked for where the challenge was opened',
  ).toMatchObject({
    error: {
      code: 'SETTLEMENT_PENDING',
      message: expect.stringMatching(`in no block of ${TESTNET.name} .${TESTNET.id}. yet.*add its network`),
    },
  })
  expect(await prove('a2a-1', MAINNET.id)).toMatchObject({
    kind: 'granted',
    settled: { network: MAINNET.id, txHash },
  })
  expect(await store.list('receipts', 'a2a-1')).toMatchObject([
    {
      key: `${MAINNET.chainId}:${txHash}:plain-0`,
      rail: other.id,
      source: { kind: 'transfer', to: OTHER_SELLER },
    },
  ])
  expect(await prove('a2a-2', MAINNET.id)).toMatchObject({
    error: {
      code: 'TX_ALREADY_REDEEMED',
      message: expect.stringContaining('A new authorization is a new payment and is charged.'),
    },
  })
})

test('without a network it is looked for where the challenge was opened, also after a payment failed on another one', async () => {
  const { store, engine, preferred, other, prove } = await open()
  const times = { createdAt: 300_000, expiresAt: 900_000 }
  const row = testChallenge({ key: 'a2a-3', amount: '1000000', ...times }, { rail: other })
  const pointer = { key: 'a2a-3', version: 0, ref: null, dueAt: null, challengeId: 'a2a-3' }
  await store.commit({
    puts: [
      { table: 'challenges', row },
      { table: 'requests', row: pointer },
    ],
  })
  const payment = testPayment({ echo: { challengeId: 'a2a-3' } }, preferred)
  const signed = await engine.purchase({ transport: 'a2a', planId: 'basic', payment })
  expect(signed).toMatchObject({ error: { code: 'PAYMENT_FAILED' } })
  expect(await prove('a2a-3')).toMatchObject({ kind: 'granted', settled: { network: MAINNET.id } })
})

test('a network on which nothing is sold is refused, with those on which it is', async () => {
  const { prove } = await open()
  expect(await prove('a2a-1', 'eip155:1')).toMatchObject({
    error: { code: 'INVALID_PROOF', message: expect.stringContaining(`${TESTNET.id}, ${MAINNET.id}`) },
  })
})

const from = (sender: string, value: string) => ({
  ...{ logIndex: 0, from: `0x${sender.repeat(20)}` as const, to: OTHER_SELLER, value },
})

test('only senders of exactly the amount are asked whether they signed', async () => {
  const dust = ['01', '02', '03'].map((sender) => from(sender, '1'))
  const refused = await open(dust)
  expect(await refused.prove('a2a-1', MAINNET.id)).toMatchObject({ error: { code: 'AMOUNT_MISMATCH' } })
  expect(refused.asked).toEqual([])
  const { prove, asked, store } = await open([...dust, from('aa', '1000000')])
  expect(await prove('a2a-1', MAINNET.id)).toMatchObject({ kind: 'granted' })
  expect(asked).toEqual([PAYER])
  const [receipt] = await store.list('receipts', 'a2a-1')
  expect(receipt?.source, 'its place among all transfers to the seller').toMatchObject({ ordinal: 3 })
})

test('a transfer to a wallet that was replaced since the offer pays it on every network that was offered, and no later offer', async () => {
  const payTo = `0x${'66'.repeat(20)}` as const
  const dust = from('01', '1')
  const after = async (lastExpiry: number, transfers = [{ ...found.transfers[0]!, to: payTo }]) => {
    const wallets = [{ network: MAINNET.id, payTo, lastExpiry }]
    const { prove, store } = await open(transfers, 'key', { formerOffers: { ttls: [], wallets } })
    const outcome = await prove('a2a-1', MAINNET.id)
    return { outcome, receipts: await store.list('receipts', 'a2a-1') }
  }
  const receipts = [{ rail: expect.stringContaining(MAINNET.id), source: { ordinal: 0, to: payTo } }]
  const granted = { outcome: { kind: 'granted' }, receipts }
  expect(await after(900_000)).toMatchObject(granted)
  expect(await after(900_000, [dust, { ...from('aa', '1000000'), to: payTo }])).toMatchObject(granted)
  expect(await after(899_000)).toMatchObject({ outcome: { error: { code: 'INVALID_PROOF' } }, receipts: [] })
})

test('so many proofs for one challenge are looked at in a minute', async () => {
  const { prove, asked } = await open([from('01', '1')])
  for (let turn = 0; turn < 30; turn++)
    expect(await prove('a2a-1', MAINNET.id)).toMatchObject({ error: { code: 'AMOUNT_MISMATCH' } })
  expect(await prove('a2a-1', MAINNET.id)).toMatchObject({
    error: { code: 'RATE_LIMITED', details: { retryAfterSeconds: 60 } },
  })
  expect(await prove('a2a-2', MAINNET.id), 'another one').toMatchObject({
    error: { code: 'AMOUNT_MISMATCH' },
  })
  expect(asked).toEqual([])
})

test.each([
  ['key', { kind: 'granted', settled: { network: TESTNET.id } }],
  ['code', { kind: 'failed', error: { code: 'INVALID_PROOF' } }],
] as const)(
  'a second payment by a transfer on another network goes back, and its payer gets the result if both are of one key: %s',
  async (signedBy, expected) => {
    const { store, prove } = await open(found.transfers, signedBy)
    const [row] = await store.get('challenges', ['a2a-1'])
    const paid = { state: 'DELIVERED', payer: PAYER, paidByKey: true, receipt: 'first', result: 'x' } as const
    const sold = { ...row!, ...paid, claimed: true, paidAt: 1, txHash: '0x1' } as const
    await store.commit({ puts: [{ table: 'challenges', row: sold }] })
    expect(await prove('a2a-1', MAINNET.id)).toMatchObject(expected)
    expect(await prove('a2a-1', MAINNET.id), 'again').toMatchObject(expected)
    expect(await store.list('refunds', 'a2a-1'), 'it goes back').toMatchObject([{ phase: 'WAITING' }])
  },
)

describe('calls that are paid by plain transfers', () => {
  const weather = { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$1.00' } as const
  const call = { method: 'GET', path: '/weather/oslo', headers: {}, body: null }

  /** A payer may have two undelivered calls a day. */
  function shop(answers: () => boolean) {
    const transfers = async (hash: Hex) => {
      const transfer = { from: PAYER, to: SELLER, value: '1000000', logIndex: 0 }
      return { at: block, found: { txHash: hash, sender: PAYER, block, transfers: [transfer] } }
    }
    const rail = testRail({
      settlement: { unavailable: async () => undefined },
      chain: { head: async () => ({ latest: block, finalized: block }) },
      hasSigned: async () => true,
      transfers,
    })
    let calls = 0
    let most = 0
    let running = 0
    const backend: Backend = {
      async call() {
        calls += 1
        running += 1
        most = Math.max(most, running)
        for (let turn = 0; turn < 20; turn++) await null
        running -= 1
        const response = { status: 200 } as never
        return answers()
          ? { ok: true, sealed: 'sealed', response, raw: undefined as never }
          : { ok: false, reason: 'status 404', response }
      },
      open: async () => ({ response: { status: 200 } }) as never,
    }
    const catalog = buildCatalog([], [weather])
    const config = { catalog, payerUndeliveredPerDay: 2, deliveryLeaseMs: 60_000 }
    const {
      ports,
      config: all,
      alerts,
    } = testPorts({ clock: createFakeClock(500_000), rails: [rail], backend, config })
    const { store } = ports
    const engine = createEngine(ports, all)
    const idOf = (index: number) => `a2a-${index}`
    async function pay(index: number) {
      const facts = { key: idOf(index), amount: '1000000', createdAt: 300_000, expiresAt: 900_000 }
      const row = testChallenge(
        { ...facts, transport: 'a2a' },
        { subject: routeSubject('weather', 'default', call) },
      )
      await store.commit({ puts: [{ table: 'challenges', row }] })
    }
    const prove = (index: number) =>
      engine.purchase({
        ...{ transport: 'a2a', challengeId: idOf(index), routeId: 'weather', call },
        proof: { txHash: `0x${String(index).padStart(64, '0')}`, signature },
      })
    const ofAll = async <T>(read: (challengeId: string) => Promise<T[]>) =>
      (await Promise.all(Array.from({ length: 10 }, (_, index) => read(idOf(index))))).flat()
    const refunds = () => ofAll((id) => store.list('refunds', id))
    /** The jobs, when every block is final. */
    async function runJobs() {
      for (const receipt of await ofAll((id) => store.list('receipts', id))) {
        await store.commit({
          puts: [{ table: 'receipts', row: { ...receipt, finalized: true, dueAt: null } }],
        })
      }
      await engine.runJobs()
    }
    const seen = () => ({ calls, most })
    return { pay, prove, runJobs, refunds, seen, alerts, store }
  }

  test('on purpose for nothing reach the backend as often as all others do; every transfer goes back', async () => {
    const { pay, prove, runJobs, refunds, seen, alerts, store } = shop(() => false)
    for (let index = 0; index < 10; index++) await pay(index)
    for (const index of [0, 1]) expect(await prove(index)).toMatchObject({ kind: 'resource' })
    for (let index = 2; index < 10; index++) {
      expect(await prove(index)).toMatchObject({
        kind: 'failed',
        error: {
          code: 'DELIVERY_FAILED',
          message: expect.stringMatching(/^2 calls .* its call is not made\. The payment goes back after/),
          details: { refund: { state: 'SCHEDULED' } },
        },
      })
    }
    expect(seen().calls).toBe(2)
    expect(alerts).toMatchObject([{ kind: 'refund-farming' }])
    expect(await store.get('challenges', ['a2a-9'])).toMatchObject([{ state: 'PAID', payer: PAYER }])
    await runJobs()
    expect(await refunds()).toMatchObject(
      Array.from({ length: 10 }, () => ({ recipient: PAYER, value: '1000000', movesState: true })),
    )
    expect(seen().calls).toBe(2)
  })

  test('and so does any number of them at once', async () => {
    const { pay, prove, seen } = shop(() => false)
    for (let index = 0; index < 10; index++) await pay(index)
    await Promise.all(Array.from({ length: 10 }, (_, index) => prove(index)))
    expect(seen()).toEqual({ calls: 2, most: 2 })
  })

  test('of an honest payer are all made, two at a time, by the same proofs', async () => {
    const { pay, prove, seen, alerts, store } = shop(() => true)
    const waiting = new Set(Array.from({ length: 10 }, (_, index) => index))
    for (const index of waiting) await pay(index)
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        [...waiting].map(async (index) => {
          const outcome = await prove(index)
          if (outcome.kind === 'resource') waiting.delete(index)
          else expect(outcome).toMatchObject({ error: { code: 'SETTLEMENT_PENDING' } })
        }),
      )
    }
    expect([...waiting]).toEqual([])
    expect(seen()).toEqual({ calls: 10, most: 2 })
    expect(alerts).toEqual([])
    expect(await store.list('holds', `undelivered:${PAYER}:0`)).toEqual([])
  })
})
