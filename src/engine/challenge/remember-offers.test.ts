import { expect, test } from 'vitest'
import { MAINNET, SELLER, TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { rememberOffers } from './remember-offers.ts'

const rail = testRail()

test('a lifetime of offers that was changed is remembered until the last offer of it expires', async () => {
  const store = createMemoryStore()
  const start = (ttlMs: number, now: number) => rememberOffers(store, { ttlMs, rails: [rail], now })
  const lowered = { ttls: [{ ttlMs: 900, lastExpiry: 1_900 }], wallets: [] }
  expect(await start(900, 0)).toEqual({ ttls: [], wallets: [] })
  expect(await start(900, 500)).toEqual({ ttls: [], wallets: [] })
  expect(await start(300, 1_000)).toEqual(lowered)
  expect(await start(300, 5_000), 'a later start').toEqual(lowered)
  expect(await start(900, 6_000), 'it is in force again').toEqual({
    ttls: [{ ttlMs: 300, lastExpiry: 6_300 }],
    wallets: [],
  })
})

test('a wallet that was replaced is remembered for each network, for offers from before', async () => {
  const store = createMemoryStore()
  const OTHER = `0x${'77'.repeat(20)}` as const
  const start = async (payTo: typeof OTHER, now: number, ttlMs = 900) => {
    const rails = [rail, testRail({ network: MAINNET, payTo })]
    return (await rememberOffers(store, { ttlMs, rails, now })).wallets
  }
  const former = (payTo: typeof OTHER, lastExpiry: number) => ({ network: MAINNET.id, payTo, lastExpiry })
  expect(await start(SELLER, 0)).toEqual([])
  expect(await start(OTHER, 1_000)).toEqual([former(SELLER, 1_900)])
  expect(await start(OTHER, 5_000)).toEqual([former(SELLER, 1_900)])
  // From 1,200 on offers expire from 1,300 on, and none of them names it.
  expect(await start(OTHER, 1_200, 100)).toEqual([former(SELLER, 1_300)])
  expect(await start(SELLER, 6_000), 'it is in force again').toEqual([former(OTHER, 6_900)])
  expect((await store.list('marks', 'paid-wallets')).map(({ key }) => key)).toContain(
    `paid-wallets/${TESTNET.id}/${SELLER}`,
  )
})

test('instances that start at the same time remember the same', async () => {
  const store = createMemoryStore()
  const starts = [1, 2, 3].map((now) => rememberOffers(store, { ttlMs: 900, rails: [rail], now }))
  expect(await Promise.all(starts)).toEqual([
    { ttls: [], wallets: [] },
    { ttls: [], wallets: [] },
    { ttls: [], wallets: [] },
  ])
})
