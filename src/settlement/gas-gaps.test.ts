import { expect, test } from 'vitest'
import { maintainDue } from '../../test/settlement/maintain-due.ts'
import type { Chain, WalletTxRow } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { type Lane, walletRef, walletTxKey } from './gas-lane.ts'
import { createTransactionKeeper } from './transaction-keeper.ts'

const CHAIN_ID = 84532
const WALLET: Address = `0x${'a'.repeat(40)}`

/** A wallet whose transactions are mined at once. */
function setUp() {
  const store = createMemoryStore()
  const clock = createFakeClock()
  const mined = new Set<string>()
  let reads = 0
  const chain = {
    async wallet() {
      reads += 1
      return { nonce: mined.size, balanceWei: 1n, baseFeeWei: 1n, priorityFeeWei: 1n }
    },
    mined: async (hashes: readonly string[]) =>
      hashes.filter((hash) => mined.has(hash)).map((hash) => ({ hash, success: true, blockNumber: 1 })),
    submit: async () => 'accepted',
  } as unknown as Chain
  const lane = { address: WALLET, learn: () => {}, isReserved: () => false } as unknown as Lane
  const settings = { maxFeePerGasWei: 9n, bumpAfterMs: 12_000, fillGas: 1 }
  const keeper = createTransactionKeeper({
    chainId: CHAIN_ID,
    chain,
    store,
    clock,
    alerts: { raise() {} },
    lanes: [lane],
    settings,
  })
  return {
    async send(nonce: number) {
      const row = {
        ...{
          key: walletTxKey(CHAIN_ID, WALLET, nonce),
          version: 0,
          ref: walletRef(CHAIN_ID, WALLET),
          dueAt: clock.now() + 12_000,
        },
        ...{
          chainId: CHAIN_ID,
          wallet: WALLET,
          nonce,
          calls: [],
          members: [],
          maxFeePerGas: '1',
          maxPriorityFeePerGas: '1',
        },
        ...{ gas: 1, raw: '0x', hashes: [`0x${nonce}`], phase: 'SENT', createdAt: clock.now() },
      } as WalletTxRow
      await store.commit({ puts: [{ table: 'walletTxs', row }] })
      mined.add(`0x${nonce}`)
    },
    /** How often the wallet is read in this many seconds, with one pass of the jobs in each. */
    async readsWithin(seconds: number) {
      reads = 0
      for (let second = 0; second < seconds; second++) {
        await clock.advance(1_000)
        await maintainDue(keeper, store, clock)
      }
      return reads
    },
  }
}

test('a wallet without a gap is read when a transaction is due, not every second until then', async () => {
  const { send, readsWithin } = setUp()
  await send(0)
  expect(await readsWithin(20), 'once more, for nothing is known after a start').toBe(2)
  await send(1)
  expect(await readsWithin(20)).toBe(1)
  expect(await readsWithin(20)).toBe(0)
})
