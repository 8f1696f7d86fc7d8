import { expect, test } from 'vitest'
import { rowOf, sendable, sendables, storeBatch } from '../../test/settlement/sendables.ts'
import type { Batch, Chain, Sendable, Store, TxSigner } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createGasWallet } from './gas-wallet.ts'

const CHAIN_ID = 84532
const GWEI = 1_000_000_000n
const A: Address = `0x${'a'.repeat(40)}`
const B: Address = `0x${'b'.repeat(40)}`

const fakeSigner = (address: Address): TxSigner => ({
  address,
  sign: async ({ nonce }) => ({ raw: `0x02${nonce}`, hash: `0x${nonce}` }),
})

/**
 * A chain with readable wallets that accepts everything; the later life of transactions is tested in
 * transaction-keeper.test.ts.
 */
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
  maxTxGas?: number
  faucet?: string
} = {}) {
  const { fake, chain } = createFakeChain()
  const store = createMemoryStore()
  const clock = createFakeClock()
  const alerts: string[] = []
  const messages: string[] = []
  /** Another instance over the same store and chain. */
  const instance = () =>
    createGasWallet({
      chainId: CHAIN_ID,
      chain,
      store,
      clock,
      alerts: {
        raise(kind, message) {
          alerts.push(kind)
          messages.push(message)
        },
      },
      signers: signers.map(fakeSigner),
      ...options,
    })
  return { fake, store, clock, alerts, messages, instance, wallet: instance() }
}

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

test('a network that allows less gas for a transaction gets smaller batches', async () => {
  const { wallet } = setUp({ maxTxGas: 10_000_000 })
  const batches = await wallet.makeBatches(sendables(100))
  expect(batches.map(({ keys }) => keys.length)).toEqual([83, 17])
  expect(batches.map((batch) => rowOf(batch).gas)).toEqual([10_000_000, 2_080_000])
})

test('fills batches, sends alone what must go alone, and respects the most restricted member', async () => {
  const { wallet } = setUp({ maxCallsPerTx: 3 })
  const list = [
    ...sendables(4),
    sendable('alone', { alone: true }),
    sendable('x', { batchLimit: 2 }),
    sendable('y', { batchLimit: 2 }),
  ]
  const batches = await wallet.makeBatches(list)
  expect(batches.map(({ keys }) => keys)).toEqual([['alone'], ['p0', 'p1', 'p2'], ['p3', 'x'], ['y']])
  expect(batches.map((batch) => rowOf(batch).gas)).toEqual([300_000, 400_000, 280_000, 160_000])
  expect(rowOf(batches[1]!)).toMatchObject({
    version: 0,
    ref: `84532:${A}`,
    chainId: CHAIN_ID,
    members: ['p0', 'p1', 'p2'].map((key) => ({ kind: 'payment', key })),
    nonce: 1,
    phase: 'SENT',
    maxFeePerGas: '2100000000',
  })
  expect(rowOf(batches[1]!).key).toBe(`84532:${A}:0000000001`)
})

test('32 concurrent callers get 32 nonces without a gap', async () => {
  const { wallet, store } = setUp()
  const made = await Promise.all(
    Array.from({ length: 32 }, (_, index) => wallet.makeBatches([sendable(`p${index}`)])),
  )
  const batches = made.flat()
  expect(batches.map((batch) => rowOf(batch).nonce).sort((a, b) => a - b)).toEqual([...Array(32).keys()])
  expect(await Promise.all(batches.map((batch) => storeBatch(store, batch)))).toEqual(Array(32).fill(true))
})

test('if two instances propose one nonce, the store refuses one of them, which then takes the next', async () => {
  const { wallet, instance, store } = setUp()
  const other = instance()
  const [mine] = await wallet.makeBatches([sendable('a')])
  const [theirs] = await other.makeBatches([sendable('b')])
  expect(await storeBatch(store, theirs!)).toBe(true)
  expect(await storeBatch(store, mine!)).toBe(false)
  mine!.drop()
  const [again] = await wallet.makeBatches([sendable('a')])
  expect(rowOf(again!).nonce).toBe(1)
  expect(await storeBatch(store, again!)).toBe(true)
})

test('a batch that was never committed leaves no gap', async () => {
  const { wallet, clock } = setUp()
  const [dropped] = await wallet.makeBatches([sendable('a')])
  expect(rowOf(dropped!).nonce).toBe(0)
  dropped!.drop()
  expect(rowOf((await wallet.makeBatches([sendable('a')]))[0]!).nonce).toBe(0)
  // The proposal is reserved for a moment only.
  expect(rowOf((await wallet.makeBatches([sendable('b')]))[0]!).nonce).toBe(1)
  await clock.advance(5_000)
  expect(rowOf((await wallet.makeBatches([sendable('c')]))[0]!).nonce).toBe(0)
})

test('after a restart it continues above the stored nonces and that of the chain', async () => {
  const { wallet, instance, store, fake } = setUp()
  await settle(wallet, store, [sendable('a')])
  fake.walletOf(A).nonce = 0
  expect(rowOf((await instance().makeBatches([sendable('b')]))[0]!).nonce).toBe(1)
  fake.walletOf(A).nonce = 7
  expect(rowOf((await instance().makeBatches([sendable('b')]))[0]!).nonce).toBe(7)
})

test('several wallets share the work, and an empty one is left out', async () => {
  const { wallet, store, fake, clock } = setUp({ signers: [A, B], maxCallsPerTx: 1 })
  const done = await settle(wallet, store, sendables(6))
  expect(done.filter((batch) => rowOf(batch).wallet === A)).toHaveLength(3)
  fake.walletOf(A).balanceWei = 0n
  await clock.advance(5_000)
  const batches = await wallet.makeBatches(sendables(4, 'q'))
  expect(batches.every((batch) => rowOf(batch).wallet === B)).toBe(true)
})

test('on a test network an empty wallet is told where its coin is free', async () => {
  const { wallet, fake } = setUp({ faucet: 'https://faucet.example' })
  fake.walletOf(A).balanceWei = 0n
  expect(await wallet.unavailable()).toMatch(
    /may cost [\d.]+\. Test ETH is free at https:\/\/faucet\.example$/,
  )
})

test('an empty wallet is alerted once, its end too, and again after it was filled and emptied', async () => {
  const { wallet, fake, alerts, clock } = setUp()
  const balances = [10n ** 18n, 0n, 0n, 10n ** 18n, 0n]
  const answers: boolean[] = []
  for (const balanceWei of balances) {
    fake.walletOf(A).balanceWei = balanceWei
    await clock.advance(5_000)
    answers.push((await wallet.unavailable()) !== undefined)
  }
  expect(answers).toEqual([false, true, true, false, true])
  expect(alerts).toEqual(['gas-wallet-empty', 'gas-wallet-refilled', 'gas-wallet-empty'])
  fake.reachable = false
  await clock.advance(5_000)
  expect(await wallet.unavailable()).toMatch(/cannot be reached/)
  await expect(wallet.makeBatches([sendable('a')])).rejects.toThrow()
})

test('what only one wallet may send is left out while that wallet cannot pay for it, and the rest is sent', async () => {
  const { wallet, fake, clock } = setUp({ signers: [A, B] })
  const list = [
    sendable('any'),
    sendable('of A', { alone: true, sender: A }),
    sendable('of B', { alone: true, sender: B }),
    sendable('of another', { alone: true, sender: `0x${'c'.repeat(40)}` }),
  ]
  fake.walletOf(A).balanceWei = 0n
  const keys = async () => (await wallet.makeBatches(list)).flatMap((batch) => batch.keys).sort()
  expect(await keys()).toEqual(['any', 'of B'])
  // Too little for a full transaction, and enough for this one: the call was made, so its charge is sent.
  fake.walletOf(A).balanceWei = 300_000n * 3n * GWEI
  await clock.advance(5_000)
  expect(await keys()).toEqual(['any', 'of A', 'of B'])
  fake.walletOf(A).balanceWei = 0n
  fake.walletOf(B).balanceWei = 0n
  await clock.advance(5_000)
  expect(await keys(), 'with no funded wallet, too').toEqual(['any'])
})

test('each wallet that is low is alerted by itself, and the first that is not is named', async () => {
  const { wallet, fake, alerts, messages, clock } = setUp({ signers: [A, B] })
  expect(wallet.fundedWallet?.()).toBe(A)
  fake.walletOf(A).balanceWei = 0n
  expect(await wallet.unavailable()).toBeUndefined()
  expect(alerts).toEqual(['gas-wallet-empty'])
  expect(messages[0]).toContain(`${A} holds 0.000000 ETH`)
  expect(messages[0]).not.toContain(B)
  expect(wallet.fundedWallet?.()).toBe(B)
  expect(await wallet.unavailable(B)).toBeUndefined()
  expect(await wallet.unavailable(A)).toContain(`${A} holds 0.000000 ETH`)
  expect(await wallet.unavailable(`0x${'c'.repeat(40)}`)).toContain('cannot be read')
  fake.walletOf(B).balanceWei = 0n
  await clock.advance(5_000)
  expect(await wallet.unavailable()).toMatch(new RegExp(`${A} holds .*; ${B} holds `))
  expect(wallet.fundedWallet?.(), 'with none, the first').toBe(A)
  fake.walletOf(A).balanceWei = 10n ** 18n
  await clock.advance(5_000)
  expect(await wallet.unavailable()).toBeUndefined()
  expect(alerts).toEqual(['gas-wallet-empty', 'gas-wallet-empty', 'gas-wallet-refilled'])
  expect(messages[2]).toContain(A)
})
