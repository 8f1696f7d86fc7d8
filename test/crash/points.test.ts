import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { repetitions } from '../at-length.ts'
import { type Lane, openLane } from './lane.ts'
import { drawPoints, idOf, parseId, type Spot, STORES } from './points.ts'
import { type StoreServers, startStoreServers } from './site.ts'

// The numbers are those of SAFETY.md's table of faults. `npm run crash` draws from all effects.
const SPOTS = [
  ['fault 1: before the claim', 'gas-wallet/plan-jwt/t1-claim#1/before'],
  ['fault 2: after the claim, before sending', 'facilitator/plan-jwt/t1-claim#1/after'],
  ['signed and stored, not sent', 'gas-wallet/plan-jwt/t1b-broadcast#1/after'],
  ['fault 3: sent with two others, before the answer', 'gas-wallet/three-at-once/rpc-send#1/after'],
  [
    'fault 3: sent to the settler contract, before the answer',
    'gas-wallet/three-by-settler/rpc-send#1/after',
  ],
  ['fault 4: settled by a facilitator, before PAID', 'facilitator/plan-api/facilitator-settle#1/after'],
  ['fault 5: PAID by a plain transfer, before the credential', 'facilitator/a2a-transfer/t2-paid#1/after'],
  [
    'fault 6: the credential is made, before DELIVERED, and the buyer gone',
    'gas-wallet/vanishing/token-api#1/after',
  ],
  ['fault 7: DELIVERED, before the response', 'gas-wallet/route-call/answer-200#1/before'],
  ['fault 8: the refund is signed, before sending', 'gas-wallet/plan-refund/t4-refund-signed#1/after'],
  ['fault 9: the refund is sent, before it is recorded', 'facilitator/route-refund/rpc-send#1/after'],
] as const

describe('killed, started again, settled', () => {
  let servers: StoreServers
  let lane: Lane
  beforeAll(async () => {
    servers = await startStoreServers(STORES)
    lane = openLane(0, servers)
  })
  afterAll(async () => {
    await lane.stop()
    await servers.stop()
  })

  // Every spot on one store, or on two of them; `npm run crash` has all on all.
  const stores = repetitions({ few: 1, many: 2 })
  const isTurnOf = (store: (typeof STORES)[number], index: number) =>
    (STORES.indexOf(store) + index) % STORES.length < stores
  describe.each(STORES)('%s', (store) => {
    test.each(SPOTS.filter((_, index) => isTurnOf(store, index)))(
      '%s: charged once, and delivered or refunded (%s)',
      async (_, spot) => {
        const { deaths, violations, logs } = await lane.run(parseId(`${store}/${spot}`))
        expect(violations, logs.join('\n')).toEqual([])
        expect(deaths, 'the point must be reached').toBe(1)
      },
      240_000,
    )
  })
})

describe('drawing', () => {
  const spots: Spot[] = ['t1-claim', 't2-paid', 'rpc-send'].flatMap((effect) =>
    (['before', 'after'] as const).map((when) => {
      return { strategy: 'gas-wallet', scenario: 'plan-jwt', effect, when, nth: 1 }
    }),
  )

  test('a seed draws the same points again, and a point is named exactly', () => {
    const points = drawPoints(spots, STORES, 60, 7)
    expect(drawPoints(spots, STORES, 60, 7)).toEqual(points)
    expect(points.map((point) => parseId(idOf(point)))).toEqual(points)
    expect(() => parseId('redis/t1-claim')).toThrow('one is named like')
  })

  test('every store gets every spot once before any comes again, and then at other moments', () => {
    const points = drawPoints(spots, STORES, 36, 8)
    for (const store of STORES) {
      const own = points.filter((point) => point.store === store)
      const nameOf = ({ effect, when }: Spot) => `${effect}/${when}`
      expect(new Set(own.slice(0, 6).map(nameOf)).size).toBe(6)
      expect(own.slice(0, 6).every(({ delayMs }) => delayMs === 0)).toBe(true)
      expect(own.slice(6).every(({ delayMs }) => delayMs > 0)).toBe(true)
    }
  })
})
