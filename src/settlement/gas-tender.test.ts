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
import type { AuthorizationRow, Parcel, Parcelable, Store, Submitted, WalletTxRow } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createGasWallet } from './gas-wallet.ts'

function setUp(options: { maxFeePerGasWei?: bigint; maxCallsPerTx?: number } = {}) {
  const fake = createFakeChain()
  const store = createMemoryStore()
  const clock = createFakeClock()
  /** Another instance over the same store and chain. */
  const instance = (address = A) => {
    const signers = [fakeSigner(address)]
    return createGasWallet({ chain: fake.chain, store, clock, alerts: { raise() {} }, signers, ...options })
  }
  return { fake, store, clock, instance, wallet: instance() }
}

const auth = {
  from: A,
  to: B,
  value: '1',
  validAfter: '0',
  validBefore: '9',
  nonce: '0x01',
  signature: '0x02',
} as const
const item = (key: string, change: Partial<Parcelable> = {}): Parcelable => ({
  key,
  auth,
  alone: false,
  packLimit: null,
  ...change,
})
const items = (count: number, prefix = 'p') =>
  Array.from({ length: count }, (_, index) => item(`${prefix}${index}`))

const rowOf = (parcel: Parcel) => parcel.puts[0]!.row as WalletTxRow
const commit = async (store: Store, parcel: Parcel) =>
  (await store.commit({ puts: parcel.puts })).kind === 'applied'
const stored = async (store: Store, parcel: Parcel) => (await store.get('walletTxs', [parcel.walletTx!]))[0]!

/** As the engine does it: what is refused is packed again. */
async function settle(wallet: ReturnType<typeof createGasWallet>, store: Store, list: Parcelable[]) {
  const done: Parcel[] = []
  for (let rest = list; rest.length > 0; ) {
    const parcels = await wallet.pack(rest)
    rest = []
    for (const parcel of parcels) {
      if (await commit(store, parcel)) done.push(parcel)
      else {
        parcel.drop()
        rest.push(...list.filter(({ key }) => parcel.members.includes(key)))
      }
    }
  }
  await Promise.all(done.map((parcel) => parcel.send()))
  return done
}

test('what was committed but never sent is sent by whoever tends next, as it is', async () => {
  const { wallet, instance, store, fake, clock } = setUp()
  const [parcel] = await wallet.pack([item('a')])
  await commit(store, parcel!)
  const heir = instance()
  await heir.tend()
  expect(fake.submitted).toEqual([])
  await clock.advance(12_000)
  await heir.tend()
  expect(fake.submitted).toHaveLength(1)
  expect((await stored(store, parcel!)).hashes).toHaveLength(1)
  fake.mine()
  await clock.advance(12_000)
  await heir.tend()
  expect(await stored(store, parcel!)).toMatchObject({
    phase: 'MINED',
    ref: null,
    dueAt: null,
    members: ['a'],
  })
})

test('a stuck transaction is priced up, stored before it is sent, and up to the cap only', async () => {
  const { wallet, store, fake, clock } = setUp({ maxFeePerGasWei: 3n * GWEI })
  const [first, second] = await settle(wallet, store, [item('a'), item('b', { alone: true })])
  const submit = fake.chain.submit
  fake.chain.submit = async (raw) => {
    const { hashes } = (
      await store.get('walletTxs', [`${A}:${String(decode(raw).nonce).padStart(10, '0')}`])
    )[0]!
    expect(hashes).toContain(hashOf(raw))
    return submit(raw)
  }
  for (let round = 0; round < 6; round++) {
    await clock.advance(12_000)
    await wallet.tend()
  }
  // Only the one that holds up the line; 2.1, 2.6 and then 3 gwei, the cap.
  const rows = [await stored(store, first!), await stored(store, second!)].sort((a, b) => a.nonce - b.nonce)
  expect(rows.map(({ hashes }) => hashes.length)).toEqual([3, 1])
  expect(BigInt(rows[0]!.maxFeePerGas)).toBe(3n * GWEI)
  expect(await wallet.unavailable()).toBeUndefined()
  fake.mine()
  await clock.advance(12_000)
  await wallet.tend()
  expect(await store.list('walletTxs', A)).toEqual([])
})

test('one that the node finds underpriced is raised at once', async () => {
  const { wallet, store, fake } = setUp()
  const [parcel] = await wallet.pack([item('a')])
  await commit(store, parcel!)
  fake.scripted = ['underpriced']
  fake.baseFeeWei = 2n * GWEI
  expect(await parcel!.send()).toEqual({ kind: 'sent' })
  expect((await stored(store, parcel!)).hashes).toHaveLength(2)
  expect(fake.submitted.map(({ fee }) => fee)).toEqual([2100, 4100])
})

test.each<Submitted>(['unknown', 'nonce-low'])('%s leaves it to tend', async (answer) => {
  const { wallet, store, fake } = setUp()
  const [parcel] = await wallet.pack([item('a')])
  await commit(store, parcel!)
  fake.scripted = [answer]
  expect(await parcel!.send()).toEqual({ kind: 'unknown' })
  fake.reachable = false
  expect(await parcel!.send()).toEqual({ kind: 'unknown' })
})

test('a nonce that went to a foreign transaction is REPLACED', async () => {
  const { wallet, store, fake, clock } = setUp()
  const [parcel] = await settle(wallet, store, [item('a')])
  fake.pool.clear()
  fake.walletOf(A).nonce = 1
  await clock.advance(12_000)
  await wallet.tend()
  expect(await stored(store, parcel!)).toMatchObject({
    phase: 'REPLACED',
    ref: null,
    dueAt: null,
    members: ['a'],
  })
})

test('one that is mined between two answers of the node is MINED, not REPLACED', async () => {
  const { wallet, store, fake, clock } = setUp()
  const [parcel] = await settle(wallet, store, [item('a')])
  const { wallet: read, mined } = fake.chain
  const thenMine = <T>(answer: Promise<T>) => answer.finally(() => fake.mine())
  Object.assign(fake.chain, {
    wallet: (address: Address) => thenMine(read(address)),
    mined: (hashes: Hex[]) => thenMine(mined(hashes)),
  })
  await clock.advance(12_000)
  await wallet.tend()
  expect((await stored(store, parcel!)).phase).toBe('MINED')
})

test('a gap under waiting transactions is filled with nothing', async () => {
  const { wallet, store, fake, clock } = setUp()
  const [lost] = await wallet.pack([item('lost')])
  await settle(wallet, store, [item('a')])
  await wallet.tend()
  expect(fake.submitted.map(({ nonce }) => nonce)).toEqual([1])
  await clock.advance(4_000)
  await wallet.tend()
  expect(fake.submitted.map(({ nonce, calls }) => [nonce, calls])).toEqual([
    [1, 1],
    [0, 0],
  ])
  // The straggler is refused by the insert.
  expect(await commit(store, lost!)).toBe(false)
  fake.mine()
  expect(fake.walletOf(A).nonce).toBe(2)
})

test.each([
  ['a payment, from its own row,', `84532:token:${auth.from}:${auth.nonce}`, []],
  ['a refund, which goes by the key of its payment,', `84532:token:${B}:0x99`, [auth]],
])('%s is sent again after a reorganisation threw it out', async (_, key, keptCalls) => {
  const { wallet, store, fake, clock } = setUp()
  const [parcel] = await settle(wallet, store, [item(key)])
  const payment = keptCalls.length > 0 ? { ...auth, nonce: '0x99' as const } : auth
  const row = {
    key,
    version: 0,
    ref: null,
    dueAt: null,
    auth: payment,
  } as Partial<AuthorizationRow> as AuthorizationRow
  await store.commit({ puts: [{ table: 'authorizations', row }] })
  fake.mine()
  await clock.advance(12_000)
  await wallet.tend()
  expect(await stored(store, parcel!)).toMatchObject({ phase: 'MINED', calls: keptCalls })
  fake.minedHashes.clear()
  fake.walletOf(A).nonce = 0
  await settle(wallet, store, [item('b')])
  await clock.advance(12_000)
  await wallet.tend()
  expect(await stored(store, parcel!)).toMatchObject({ phase: 'SENT', ref: A, calls: [auth] })
  fake.mine()
  expect(fake.walletOf(A).nonce).toBe(2)
})

test('a wallet whose key is gone is still followed, and a node that fails one wallet does not stop another', async () => {
  const { wallet, instance, store, fake, clock } = setUp()
  const [parcel] = await settle(wallet, store, [item('a')])
  const successor = instance(B)
  const read = fake.chain.wallet
  fake.chain.wallet = (address) => (address === B ? Promise.reject(new Error('down')) : read(address))
  await store.commit({
    puts: [{ table: 'walletTxs', row: { ...rowOf(parcel!), key: `${B}:0`, wallet: B, ref: B } }],
  })
  fake.mine()
  await clock.advance(12_000)
  await expect(successor.tend()).rejects.toThrow('down')
  expect(await stored(store, parcel!)).toMatchObject({ phase: 'MINED' })
})

test('whatever is lost, refused or killed on the way, in the end every stored transaction is mined', async () => {
  const step = fc.constantFrom('settle', 'forget', 'crash', 'die', 'mine', 'tend', 'wait', 'drop')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { instance, store, fake, clock } = setUp({ maxCallsPerTx: 2 })
      const alive = [instance(), instance()]
      const committed: Parcel[] = []
      for (const [index, action] of steps.entries()) {
        const wallet = alive[index % 2]!
        if (action === 'settle') committed.push(...(await settle(wallet, store, items(3, `${index}-`))))
        if (action === 'forget') await wallet.pack(items(2, `${index}-`))
        if (action === 'crash') {
          for (const parcel of await wallet.pack(items(3, `${index}-`)))
            if (await commit(store, parcel)) committed.push(parcel)
        }
        if (action === 'die') alive[index % 2] = instance()
        if (action === 'mine') fake.mine()
        if (action === 'tend') await wallet.tend()
        if (action === 'wait') await clock.advance(5_000)
        if (action === 'drop') fake.pool.clear()
      }
      for (let round = 0; round < 6; round++) {
        await clock.advance(13_000)
        await alive[0]!.tend()
        fake.mine()
      }
      for (const parcel of committed) expect((await stored(store, parcel)).phase).toBe('MINED')
      expect(await store.list('walletTxs', A)).toEqual([])
    }),
    { numRuns: 150 },
  )
})
