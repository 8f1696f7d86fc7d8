import { expect, test } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { rememberOffers } from './remember-offers.ts'

test('a lifetime of offers that was changed is remembered until the last offer of it expires', async () => {
  const store = createMemoryStore()
  const start = (ttlMs: number, now: number) => rememberOffers(store, { ttlMs, now })
  const lowered = { ttls: [{ ttlMs: 900, lastExpiry: 1_900 }] }
  expect(await start(900, 0)).toEqual({ ttls: [] })
  expect(await start(900, 500)).toEqual({ ttls: [] })
  expect(await start(300, 1_000)).toEqual(lowered)
  expect(await start(300, 5_000), 'a later start').toEqual(lowered)
  expect(await start(900, 6_000), 'it is in force again').toEqual({
    ttls: [{ ttlMs: 300, lastExpiry: 6_300 }],
  })
})

test('instances that start at the same time remember the same', async () => {
  const store = createMemoryStore()
  const starts = [1, 2, 3].map((now) => rememberOffers(store, { ttlMs: 900, now }))
  expect(await Promise.all(starts)).toEqual([{ ttls: [] }, { ttls: [] }, { ttls: [] }])
})
