import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, PRICE, startWorld, type World } from '../e2e/world.ts'

const MIB = 1024 * 1024
const AT_ONCE = 20

let world: World
beforeAll(async () => {
  world = await startWorld({ options: { challengeTtlSeconds: 2 } })
})
afterAll(() => world.stop())

async function ask(count: number, body: (index: number) => object): Promise<string[]> {
  const ids: string[] = []
  for (let start = 0; start < count; start += AT_ONCE) {
    const batch = Array.from({ length: AT_ONCE }, (_, turn) => world.access(body(start + turn)))
    for (const { status, body: terms } of await Promise.all(batch)) {
      expect(status).toBe(402)
      ids.push(terms.challengeId!)
    }
  }
  return ids
}

test('attack 32: unpaid challenges leave memory bounded, and the stored ones are swept', async () => {
  await ask(200, () => ({ planId: 'basic' }))
  const before = world.rssBytes()
  const bare = await ask(2000, () => ({ planId: 'basic' }))
  const named = await ask(1000, (index) => ({ planId: 'basic', requestId: `squat-${index}` }))
  expect(new Set([...bare, ...named]).size).toBe(3000)
  expect(world.rssBytes() - before).toBeLessThan(150 * MIB)
  // Only what is stored has a requestId: the others live in their ids alone.
  expect(await world.status(bare[0]!)).not.toHaveProperty('requestId')
  for (const id of [named[0]!, named[500]!, named[999]!]) {
    await eventually(async () => !('requestId' in (await world.status(id))))
  }
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const body = { planId: 'basic', requestId: 'squat-0' }
  expect(await eventually(async () => (await world.buy(buyer, body)).status === 200), 'free again').toBe(true)
}, 180_000)

test('attack 32: an address gets so many a minute, stored or not', async () => {
  await world.restart({ rateLimitPerMinute: 30 })
  const statuses: number[] = []
  for (let turn = 0; turn < 40; turn++) {
    const named = turn % 2 === 0 ? {} : { requestId: `limited-${turn}` }
    statuses.push((await world.access({ planId: 'basic', ...named })).status)
  }
  expect(statuses.slice(0, 30)).toEqual(Array(30).fill(402))
  expect(statuses.slice(30)).toContain(429)
})
