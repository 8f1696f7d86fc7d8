import { expect, test } from 'vitest'
import { A, createFakeChain, fakeSigner, GWEI } from '../../test/settlement/fake-mempool.ts'
import { rowOf, sendables, storeBatch } from '../../test/settlement/sendables.ts'
import type { Turns } from '../ports.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createGasWallet } from './gas-wallet.ts'

const BASE = 84532
const ARBITRUM = 421614

/** One key, one store, two chains. */
function setUp() {
  const store = createMemoryStore()
  const clock = createFakeClock()
  const taken: string[] = []
  const turns: Turns = {
    async take(name) {
      taken.push(name)
      return () => {}
    },
    close() {},
  }
  const walletOn = (chainId: number) => {
    const fake = createFakeChain()
    const parts = { chainId, chain: fake.chain, store, clock, turns, alerts: { raise() {} } }
    return { fake, wallet: createGasWallet({ ...parts, signers: [fakeSigner(A)] }) }
  }
  return { store, clock, taken, base: walletOn(BASE), arbitrum: walletOn(ARBITRUM) }
}

test('turns, nonces and stored transactions of one key are separate on each chain', async () => {
  const { store, taken, base, arbitrum } = setUp()
  arbitrum.fake.walletOf(A).nonce = 7
  for (const { wallet } of [base, arbitrum, base]) {
    const [batch] = await wallet.makeBatches(sendables(1))
    expect(await storeBatch(store, batch!)).toBe(true)
    await batch!.send()
  }
  expect(taken).toEqual([`${BASE}:${A}`, `${ARBITRUM}:${A}`, `${BASE}:${A}`])
  expect(base.fake.submitted.map(({ nonce }) => nonce)).toEqual([0, 1])
  expect(arbitrum.fake.submitted.map(({ nonce }) => nonce)).toEqual([7])
})

test('the same nonce may be used on both chains, and each keeper looks after its own chain alone', async () => {
  const { store, clock, base, arbitrum } = setUp()
  const batches = await Promise.all([
    base.wallet.makeBatches(sendables(1)),
    arbitrum.wallet.makeBatches(sendables(1)),
  ])
  const rows = batches.flat().map(rowOf)
  expect(rows.map(({ chainId, nonce }) => [chainId, nonce])).toEqual([
    [BASE, 0],
    [ARBITRUM, 0],
  ])
  expect(new Set(rows.map(({ key }) => key)).size).toBe(2)
  for (const batch of batches.flat()) await storeBatch(store, batch)
  await clock.advance(20_000)
  const due = await store.get('walletTxs', [rows[0]!.key])
  await base.wallet.maintain(due.flatMap((row) => row ?? []))
  expect(base.fake.submitted).toHaveLength(1)
  expect(arbitrum.fake.submitted, 'the other chain is not asked').toEqual([])
})

test('the gas price is base fee and tip as they are now, read once for a few seconds', async () => {
  const { base, clock } = setUp()
  expect(await base.wallet.gasPriceWei?.()).toBe(GWEI + GWEI / 10n)
  base.fake.baseFeeWei = 3n * GWEI
  expect(await base.wallet.gasPriceWei?.(), 'fresh enough').toBe(GWEI + GWEI / 10n)
  await clock.advance(3_000)
  expect(await base.wallet.gasPriceWei?.()).toBe(3n * GWEI + GWEI / 10n)
})

test('an empty wallet is reported in the coin of its network', async () => {
  const { fake } = setUp().base
  fake.walletOf(A).balanceWei = 1n
  const told: string[] = []
  const wallet = createGasWallet({
    chainId: 137,
    chain: fake.chain,
    store: createMemoryStore(),
    clock: createFakeClock(),
    alerts: { raise: (_kind, message) => void told.push(message) },
    signers: [fakeSigner(A)],
    symbol: 'POL',
  })
  expect(await wallet.unavailable()).toMatch(/holds 0\.000000 POL, a transaction may cost/)
  expect(told).toHaveLength(1)
})
