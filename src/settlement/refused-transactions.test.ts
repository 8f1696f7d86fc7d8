import { expect, test } from 'vitest'
import { testAttempt } from '../../test/engine/test-rows.ts'
import { A, createFakeChain, decode, fakeSigner } from '../../test/settlement/fake-mempool.ts'
import { maintainDue } from '../../test/settlement/maintain-due.ts'
import { sendable, storeBatch } from '../../test/settlement/sendables.ts'
import type { AuthorizationRow, Put, RefundRow } from '../ports.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createGasWallet } from './gas-wallet.ts'

const WORDS = 'tx fee (1.20 ether) exceeds the configured cap (1.00 ether)'

/** A node that takes nothing but transactions without calls, and two transactions of one wallet. */
async function setUp(members: ReadonlyArray<'payment' | 'refund'> = ['payment', 'payment']) {
  const fake = createFakeChain()
  const store = createMemoryStore()
  const clock = createFakeClock()
  const alerts: string[] = []
  const { submit } = fake.chain
  let limit = 1
  fake.chain.submit = async (raw) => (decode(raw).calls > limit ? { refused: WORDS } : submit(raw))
  const wallet = createGasWallet({
    ...{ chainId: 84532, chain: fake.chain, store, clock, signers: [fakeSigner(A)] },
    alerts: { raise: (kind, message) => void alerts.push(`${kind}: ${message}`) },
  })
  const big = members.map((kind, index) => sendable(`m${index}`, { member: { kind, key: `m${index}` } }))
  const send = async (list: typeof big) => {
    const [batch] = await wallet.makeBatches(list)
    await storeBatch(store, batch!)
    expect(await batch!.send()).toBeDefined()
    return batch!.walletTx!
  }
  const refused = await send(big)
  const behind = await send([sendable('later')])
  const stored = async (key: string) => (await store.get('walletTxs', [key]))[0]!
  const pass = async (rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      await clock.advance(12_000)
      await maintainDue(wallet, store, clock)
    }
  }
  const put = (...puts: Put[]) => store.commit({ puts })
  const allow = (calls: number) => {
    limit = calls
  }
  return { fake, alerts, refused, behind, stored, pass, put, allow }
}

const payment = (key: string, change: Partial<AuthorizationRow>): Put => ({
  table: 'authorizations',
  row: testAttempt({ key, ...change }),
})

test('a transaction that nodes keep refusing is told once, with wallet, nonce and the words of the node', async () => {
  const { alerts, pass } = await setUp()
  await pass(10)
  expect(alerts).toEqual([])
  await pass(10)
  expect(alerts).toHaveLength(1)
  expect(alerts[0]).toMatch(/^job-failed: /)
  for (const part of [A, 'nonce 0', WORDS]) expect(alerts[0]).toContain(part)
})

test('its nonce is used by an empty transaction once all its payments are decided, and what waits behind it is mined', async () => {
  const { fake, refused, behind, stored, pass, put } = await setUp()
  await put(
    payment('m0', { phase: 'DEAD', walletTx: refused }),
    payment('m1', { phase: 'BROADCAST', walletTx: refused }),
  )
  await pass(20)
  expect((await stored(refused)).members, 'one may still be paid by it').toHaveLength(2)
  await put({ table: 'authorizations', row: { ...testAttempt({ key: 'm1' }), version: 1, phase: 'DEAD' } })
  await pass(1)
  const emptied = await stored(refused)
  expect(emptied).toMatchObject({ phase: 'SENT', calls: [], members: [], gas: 40_000 })
  expect(emptied.hashes, 'the refused one is recognised, should it be mined after all').toHaveLength(2)
  fake.mine()
  await pass(1)
  expect([await stored(refused), await stored(behind)]).toMatchObject([
    { phase: 'MINED' },
    { phase: 'MINED' },
  ])
})

test.each<[string, Partial<AuthorizationRow>, boolean]>([
  ['is confirmed', { phase: 'CONFIRMED' }, true],
  ['was abandoned, and may still land', { phase: 'ABANDONED' }, false],
  ['is carried by another transaction', { phase: 'BROADCAST', walletTx: 'another' }, true],
  ['remembers it as an earlier one', { phase: 'BROADCAST', walletTx: 'another', earlierTxs: ['own'] }, false],
])(
  'only a payment that can land by it keeps the transaction: one that %s',
  async (_, { earlierTxs, ...change }, isReplaced) => {
    const { refused, stored, pass, put } = await setUp(['payment', 'payment'])
    const earlier = earlierTxs && { earlierTxs: [refused] }
    await put(
      payment('m0', { phase: 'DEAD', walletTx: refused }),
      payment('m1', { walletTx: refused, ...change, ...earlier }),
    )
    await pass(20)
    expect((await stored(refused)).members.length === 0).toBe(isReplaced)
  },
)

test('a refund that waits for its chain keeps its transaction, and one that failed does not', async () => {
  const { refused, stored, pass, put } = await setUp(['refund', 'refund'])
  const refund = (key: string, phase: RefundRow['phase'], version = 0): Put => ({
    table: 'refunds',
    row: { key, version, phase, walletTx: refused, ref: null, dueAt: null } as RefundRow,
  })
  await put(refund('m0', 'FAILED'), refund('m1', 'BROADCAST'))
  await pass(20)
  expect((await stored(refused)).members).toHaveLength(2)
  await put(refund('m1', 'DONE', 1))
  await pass(1)
  expect((await stored(refused)).members).toEqual([])
})

test('one that a node takes in the end is left as it is', async () => {
  const { fake, alerts, refused, stored, pass, put, allow } = await setUp()
  await put(
    payment('m0', { phase: 'DEAD', walletTx: refused }),
    payment('m1', { phase: 'BROADCAST', walletTx: refused }),
  )
  await pass(5)
  allow(2)
  await pass(1)
  fake.mine()
  await pass(20)
  expect(await stored(refused)).toMatchObject({ phase: 'MINED', members: [{ key: 'm0' }, { key: 'm1' }] })
  expect(alerts).toEqual([])
})
