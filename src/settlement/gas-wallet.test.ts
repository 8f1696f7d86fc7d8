import { expect, test } from 'vitest'
import type { Chain, Parcel, Parcelable, Store, TxSigner, WalletTxRow } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createGasWallet } from './gas-wallet.ts'

const GWEI = 1_000_000_000n
const A: Address = `0x${'a'.repeat(40)}`
const B: Address = `0x${'b'.repeat(40)}`

const fakeSigner = (address: Address): TxSigner => ({
  address,
  sign: async ({ nonce }) => ({ raw: `0x02${nonce}`, hash: `0x${nonce}` }),
})

/** Wallets that can be read and take everything; what becomes of transactions is tested in gas-tender.test.ts. */
function createFakeChain() {
  const wallets = new Map<Address, { nonce: number; balanceWei: bigint }>()
  const walletOf = (address: Address) => {
    const wallet = wallets.get(address) ?? { nonce: 0, balanceWei: 10n ** 18n }
    wallets.set(address, wallet)
    return wallet
  }
  const fake = { walletOf, reachable: true }
  const chain: Pick<Chain, 'wallet' | 'submit'> = {
    async wallet(address) {
      if (!fake.reachable) throw new Error('unreachable')
      return { ...walletOf(address), baseFeeWei: GWEI, priorityFeeWei: GWEI / 10n }
    },
    submit: async () => 'accepted',
  }
  return { fake, chain: chain as Chain }
}

function setUp({
  signers = [A],
  ...options
}: {
  signers?: Address[]
  maxFeePerGasWei?: bigint
  maxCallsPerTx?: number
} = {}) {
  const { fake, chain } = createFakeChain()
  const store = createMemoryStore()
  const clock = createFakeClock()
  const alerts: string[] = []
  /** Another instance over the same store and chain. */
  const instance = () =>
    createGasWallet({
      chain,
      store,
      clock,
      alerts: { raise: (kind) => alerts.push(kind) },
      signers: signers.map(fakeSigner),
      ...options,
    })
  return { fake, store, clock, alerts, instance, wallet: instance() }
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

test('fills batches, keeps apart who must be alone, and respects the most restricted member', async () => {
  const { wallet } = setUp({ maxCallsPerTx: 3 })
  const list = [
    ...items(4),
    item('alone', { alone: true }),
    item('x', { packLimit: 2 }),
    item('y', { packLimit: 2 }),
  ]
  const parcels = await wallet.pack(list)
  expect(parcels.map(({ members }) => members)).toEqual([['alone'], ['p0', 'p1', 'p2'], ['p3', 'x'], ['y']])
  expect(parcels.map((parcel) => rowOf(parcel).gas)).toEqual([300_000, 400_000, 280_000, 160_000])
  expect(rowOf(parcels[1]!)).toMatchObject({
    version: 0,
    ref: A,
    nonce: 1,
    phase: 'SENT',
    maxFeePerGas: '2100000000',
  })
  expect(rowOf(parcels[1]!).key).toBe(`${A}:0000000001`)
})

test('32 concurrent packs get 32 nonces without a gap', async () => {
  const { wallet, store } = setUp()
  const packed = await Promise.all(Array.from({ length: 32 }, (_, index) => wallet.pack([item(`p${index}`)])))
  const parcels = packed.flat()
  expect(parcels.map((parcel) => rowOf(parcel).nonce).sort((a, b) => a - b)).toEqual([...Array(32).keys()])
  expect(await Promise.all(parcels.map((parcel) => commit(store, parcel)))).toEqual(Array(32).fill(true))
})

test('of two instances that propose one nonce the store refuses one, which then moves past it', async () => {
  const { wallet, instance, store } = setUp()
  const other = instance()
  const [mine] = await wallet.pack([item('a')])
  const [theirs] = await other.pack([item('b')])
  expect(await commit(store, theirs!)).toBe(true)
  expect(await commit(store, mine!)).toBe(false)
  mine!.drop()
  const [again] = await wallet.pack([item('a')])
  expect(rowOf(again!).nonce).toBe(1)
  expect(await commit(store, again!)).toBe(true)
})

test('a parcel that was never committed leaves no gap', async () => {
  const { wallet, clock } = setUp()
  const [dropped] = await wallet.pack([item('a')])
  expect(rowOf(dropped!).nonce).toBe(0)
  dropped!.drop()
  expect(rowOf((await wallet.pack([item('a')]))[0]!).nonce).toBe(0)
  // Others keep clear of it for a moment only.
  expect(rowOf((await wallet.pack([item('b')]))[0]!).nonce).toBe(1)
  await clock.advance(5_000)
  expect(rowOf((await wallet.pack([item('c')]))[0]!).nonce).toBe(0)
})

test('after a restart it goes on behind what is stored, and behind what the chain has seen', async () => {
  const { wallet, instance, store, fake } = setUp()
  await settle(wallet, store, [item('a')])
  fake.walletOf(A).nonce = 0
  expect(rowOf((await instance().pack([item('b')]))[0]!).nonce).toBe(1)
  fake.walletOf(A).nonce = 7
  expect(rowOf((await instance().pack([item('b')]))[0]!).nonce).toBe(7)
})

test('several wallets share the work, and an empty one is left out', async () => {
  const { wallet, store, fake, clock } = setUp({ signers: [A, B], maxCallsPerTx: 1 })
  const done = await settle(wallet, store, items(6))
  expect(done.filter((parcel) => rowOf(parcel).wallet === A)).toHaveLength(3)
  fake.walletOf(A).balanceWei = 0n
  await clock.advance(5_000)
  const parcels = await wallet.pack(items(4, 'q'))
  expect(parcels.every((parcel) => rowOf(parcel).wallet === B)).toBe(true)
})

test('an empty wallet is told once, and again after it was filled and emptied', async () => {
  const { wallet, fake, alerts, clock } = setUp()
  const balances = [10n ** 18n, 0n, 0n, 10n ** 18n, 0n]
  const answers: boolean[] = []
  for (const balanceWei of balances) {
    fake.walletOf(A).balanceWei = balanceWei
    await clock.advance(5_000)
    answers.push((await wallet.unavailable()) !== undefined)
  }
  expect(answers).toEqual([false, true, true, false, true])
  expect(alerts).toEqual(['gas-wallet-empty', 'gas-wallet-empty'])
  fake.reachable = false
  await clock.advance(5_000)
  expect(await wallet.unavailable()).toMatch(/cannot be reached/)
  await expect(wallet.pack([item('a')])).rejects.toThrow()
})
