import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  A,
  B,
  createFakeChain,
  decode,
  fakeSigner,
  GWEI,
  hashOf,
} from '../../test/settlement/fake-mempool.ts'
import { maintainDue } from '../../test/settlement/maintain-due.ts'
import { rowOf, sendable, sendables, signed, storeBatch } from '../../test/settlement/sendables.ts'
import type { AuthorizationRow, Batch, Sendable, Store, Submitted, WalletTxRow } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { earlierWalletTxKey, walletRef, walletTxKey } from './gas-lane.ts'
import { createGasWallet } from './gas-wallet.ts'

const CHAIN_ID = 84532
const REF = walletRef(CHAIN_ID, A)

function setUp(options: { maxFeePerGasWei?: bigint; maxCallsPerTx?: number } = {}) {
  const fake = createFakeChain()
  const store = createMemoryStore()
  const clock = createFakeClock()
  /** Another instance over the same store and chain. */
  const instance = (address = A) => {
    const signers = [fakeSigner(address)]
    const parts = { chainId: CHAIN_ID, chain: fake.chain, store, clock, alerts: { raise() {} } }
    return createGasWallet({ ...parts, signers, ...options })
  }
  const maintain = (wallet: ReturnType<typeof instance>) => maintainDue(wallet, store, clock)
  return { fake, store, clock, instance, maintain, wallet: instance() }
}

const storedTx = async (store: Store, batch: Batch) => (await store.get('walletTxs', [batch.walletTx!]))[0]!

/** Like the engine: what is refused goes into another batch. */
async function settle(wallet: ReturnType<typeof createGasWallet>, store: Store, list: Sendable[]) {
  const done: Batch[] = []
  for (let rest = list; rest.length > 0; ) {
    const batches = await wallet.makeBatches(rest)
    rest = []
    for (const batch of batches) {
      if (await storeBatch(store, batch)) done.push(batch)
      else {
        batch.drop()
        rest.push(...list.filter(({ member }) => batch.keys.includes(member.key)))
      }
    }
  }
  await Promise.all(done.map((batch) => batch.send()))
  return done
}

test('what was committed but never sent is sent unchanged by the next instance that maintains', async () => {
  const { wallet, instance, maintain, store, fake, clock } = setUp()
  const [batch] = await wallet.makeBatches([sendable('a')])
  await storeBatch(store, batch!)
  const heir = instance()
  await maintain(heir)
  expect(fake.submitted).toEqual([])
  await clock.advance(12_000)
  await maintain(heir)
  expect(fake.submitted).toHaveLength(1)
  expect((await storedTx(store, batch!)).hashes).toHaveLength(1)
  fake.mine()
  await clock.advance(12_000)
  await maintain(heir)
  expect(await storedTx(store, batch!)).toMatchObject({
    phase: 'MINED',
    ref: null,
    dueAt: null,
    members: [{ kind: 'payment', key: 'a' }],
  })
})

test('the fee of a stuck transaction is raised up to the cap, and stored before it is sent', async () => {
  const { wallet, maintain, store, fake, clock } = setUp({ maxFeePerGasWei: 3n * GWEI })
  const [first, second] = await settle(wallet, store, [sendable('a'), sendable('b', { alone: true })])
  const submit = fake.chain.submit
  fake.chain.submit = async (raw) => {
    const { hashes } = (await store.get('walletTxs', [walletTxKey(CHAIN_ID, A, decode(raw).nonce)]))[0]!
    expect(hashes).toContain(hashOf(raw))
    return submit(raw)
  }
  for (let round = 0; round < 6; round++) {
    await clock.advance(12_000)
    await maintain(wallet)
  }
  // Only the lowest nonce is raised: to 2.1, 2.6 and then 3 gwei, the cap.
  const rows = [await storedTx(store, first!), await storedTx(store, second!)].sort(
    (a, b) => a.nonce - b.nonce,
  )
  expect(rows.map(({ hashes }) => hashes.length)).toEqual([3, 1])
  expect(BigInt(rows[0]!.maxFeePerGas)).toBe(3n * GWEI)
  expect(await wallet.unavailable()).toBeUndefined()
  fake.mine()
  await clock.advance(12_000)
  await maintain(wallet)
  expect(await store.list('walletTxs', REF)).toEqual([])
})

test('a transaction that the node calls underpriced is raised at once', async () => {
  const { wallet, store, fake } = setUp()
  const [batch] = await wallet.makeBatches([sendable('a')])
  await storeBatch(store, batch!)
  fake.scripted = ['underpriced']
  fake.baseFeeWei = 2n * GWEI
  expect(await batch!.send()).toEqual({ kind: 'sent' })
  expect((await storedTx(store, batch!)).hashes).toHaveLength(2)
  expect(fake.submitted.map(({ fee }) => fee)).toEqual([2100, 4100])
})

test.each<Submitted>(['unknown', 'nonce-low'])('%s leaves it to the keeper', async (answer) => {
  const { wallet, store, fake } = setUp()
  const [batch] = await wallet.makeBatches([sendable('a')])
  await storeBatch(store, batch!)
  fake.scripted = [answer]
  expect(await batch!.send()).toEqual({ kind: 'unknown' })
  fake.reachable = false
  expect(await batch!.send()).toEqual({ kind: 'unknown' })
})

test('a transaction whose nonce was used by a foreign one is REPLACED', async () => {
  const { wallet, maintain, store, fake, clock } = setUp()
  const [batch] = await settle(wallet, store, [sendable('a')])
  fake.pool.clear()
  fake.walletOf(A).nonce = 1
  await clock.advance(12_000)
  await maintain(wallet)
  expect(await storedTx(store, batch!)).toMatchObject({
    phase: 'REPLACED',
    ref: null,
    dueAt: null,
    members: [{ kind: 'payment', key: 'a' }],
  })
})

test('a transaction that is mined between two answers of the node is MINED, not REPLACED', async () => {
  const { wallet, maintain, store, fake, clock } = setUp()
  const [batch] = await settle(wallet, store, [sendable('a')])
  const { wallet: read, mined } = fake.chain
  const thenMine = <T>(answer: Promise<T>) => answer.finally(() => fake.mine())
  Object.assign(fake.chain, {
    wallet: (address: Address) => thenMine(read(address)),
    mined: (hashes: Hex[]) => thenMine(mined(hashes)),
  })
  await clock.advance(12_000)
  await maintain(wallet)
  expect((await storedTx(store, batch!)).phase).toBe('MINED')
})

test('a gap below waiting transactions is filled with an empty transfer', async () => {
  const { wallet, maintain, store, fake, clock } = setUp()
  const [lost] = await wallet.makeBatches([sendable('lost')])
  await settle(wallet, store, [sendable('a')])
  await maintain(wallet)
  expect(fake.submitted.map(({ nonce }) => nonce)).toEqual([1])
  await clock.advance(4_000)
  await maintain(wallet)
  expect(fake.submitted.map(({ nonce, calls }) => [nonce, calls])).toEqual([
    [1, 1],
    [0, 0],
  ])
  // The late batch is refused by the insert.
  expect(await storeBatch(store, lost!)).toBe(false)
  fake.mine()
  expect(fake.walletOf(A).nonce).toBe(2)
})

test.each([
  ['a payment, from its own row,', { kind: 'payment', key: 'paid' }, signed, []],
  [
    'a refund, which has no such row,',
    { kind: 'refund', key: 'paid' },
    { ...signed, nonce: '0x99' },
    [signed],
  ],
] as const)('%s is sent again after a reorganisation threw it out', async (_, member, payment, keptCalls) => {
  const { wallet, maintain, store, fake, clock } = setUp()
  const [batch] = await settle(wallet, store, [sendable('', { member })])
  const row = {
    key: member.key,
    version: 0,
    ref: null,
    dueAt: null,
    auth: payment,
  } as Partial<AuthorizationRow> as AuthorizationRow
  await store.commit({ puts: [{ table: 'authorizations', row }] })
  fake.mine()
  await clock.advance(12_000)
  await maintain(wallet)
  expect(await storedTx(store, batch!)).toMatchObject({ phase: 'MINED', calls: keptCalls })
  fake.minedHashes.clear()
  fake.walletOf(A).nonce = 0
  await settle(wallet, store, [sendable('b')])
  await clock.advance(12_000)
  await maintain(wallet)
  expect(await storedTx(store, batch!)).toMatchObject({ phase: 'SENT', ref: REF, calls: [signed] })
  fake.mine()
  expect(fake.walletOf(A).nonce).toBe(2)
})

/** The row as earlier versions stored it, which knew only one chain: with their key and ref. */
const earlier = (batch: Batch, change: Partial<WalletTxRow> = {}): WalletTxRow => {
  const row = { ...rowOf(batch), ...change }
  return { ...row, key: earlierWalletTxKey(A, row.nonce), ref: A }
}

test('a row under an earlier key keeps its nonce, and is sent, closed and reopened like any other', async () => {
  const { wallet, instance, maintain, store, fake, clock } = setUp()
  const [batch] = await wallet.makeBatches([sendable('a')])
  await store.commit({ puts: [{ table: 'walletTxs', row: earlier(batch!, { members: [], calls: [] }) }] })
  const key = earlierWalletTxKey(A, 0)
  const heir = instance()
  const [next] = await settle(heir, store, [sendable('b')])
  expect(rowOf(next!).nonce).toBe(1)
  await clock.advance(12_000)
  await maintain(heir)
  fake.mine()
  expect(fake.walletOf(A).nonce).toBe(2)
  await clock.advance(12_000)
  await maintain(heir)
  expect(await store.get('walletTxs', [key])).toMatchObject([{ phase: 'MINED', ref: null, dueAt: null }])
  fake.minedHashes.clear()
  fake.walletOf(A).nonce = 0
  await settle(heir, store, [sendable('c')])
  await clock.advance(12_000)
  await maintain(heir)
  expect(await store.get('walletTxs', [key])).toMatchObject([{ phase: 'SENT', ref: A }])
  expect(await store.get('walletTxs', [walletTxKey(CHAIN_ID, A, 0)])).toEqual([undefined])
  fake.mine()
  expect(fake.walletOf(A).nonce).toBe(3)
})

test('transactions of the same wallet on another chain use no nonce of this one', async () => {
  const { wallet, instance, store, clock, maintain, fake } = setUp()
  const [batch] = await wallet.makeBatches([sendable('a')])
  batch!.drop()
  const elsewhere = earlier(batch!, { chainId: 8453, dueAt: null })
  await store.commit({ puts: [{ table: 'walletTxs', row: elsewhere }] })
  const heir = instance()
  const [mine] = await settle(heir, store, [sendable('a')])
  expect(rowOf(mine!)).toMatchObject({ nonce: 0, key: walletTxKey(CHAIN_ID, A, 0) })
  fake.mine()
  await clock.advance(12_000)
  await maintain(heir)
  expect((await storedTx(store, mine!)).phase).toBe('MINED')
  expect(await store.list('walletTxs', A)).toMatchObject([{ chainId: 8453, phase: 'SENT' }])
})

test('a wallet without a configured key is still followed, and an error for one wallet does not stop another', async () => {
  const { wallet, instance, maintain, store, fake, clock } = setUp()
  const [batch] = await settle(wallet, store, [sendable('a')])
  const successor = instance(B)
  const read = fake.chain.wallet
  fake.chain.wallet = (address) => (address === B ? Promise.reject(new Error('down')) : read(address))
  await store.commit({
    puts: [
      {
        table: 'walletTxs',
        row: { ...rowOf(batch!), key: `${CHAIN_ID}:${B}:0`, wallet: B, ref: `${CHAIN_ID}:${B}` },
      },
    ],
  })
  fake.mine()
  await clock.advance(12_000)
  await expect(maintain(successor)).rejects.toThrow('down')
  expect(await storedTx(store, batch!)).toMatchObject({ phase: 'MINED' })
})

test('whatever is lost, refused or killed, every stored transaction is mined in the end', async () => {
  const step = fc.constantFrom('settle', 'forget', 'crash', 'die', 'mine', 'maintain', 'wait', 'drop')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { instance, maintain, store, fake, clock } = setUp({ maxCallsPerTx: 2 })
      const alive = [instance(), instance()]
      const committed: Batch[] = []
      for (const [index, action] of steps.entries()) {
        const wallet = alive[index % 2]!
        if (action === 'settle') committed.push(...(await settle(wallet, store, sendables(3, `${index}-`))))
        if (action === 'forget') await wallet.makeBatches(sendables(2, `${index}-`))
        if (action === 'crash') {
          for (const batch of await wallet.makeBatches(sendables(3, `${index}-`)))
            if (await storeBatch(store, batch)) committed.push(batch)
        }
        if (action === 'die') alive[index % 2] = instance()
        if (action === 'mine') fake.mine()
        if (action === 'maintain') await maintain(wallet)
        if (action === 'wait') await clock.advance(5_000)
        if (action === 'drop') fake.pool.clear()
      }
      for (let round = 0; round < 6; round++) {
        await clock.advance(13_000)
        await maintain(alive[0]!)
        fake.mine()
      }
      for (const batch of committed) expect((await storedTx(store, batch)).phase).toBe('MINED')
      expect(await store.list('walletTxs', REF)).toEqual([])
    }),
    { numRuns: 150 },
  )
})
