import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DevAccount } from '../../src/testing/index.ts'
import { eventually, PRICE, startWorld, type World } from './world.ts'

let world: World
let buyers: IterableIterator<DevAccount>

/** An RPC that is 80 ms away, a block every 2 s, and a gateway with the settings of sellers: other tests are less patient. */
beforeAll(async () => {
  world = await startWorld({ remote: { latencyMs: 80 }, options: { pollIntervalMs: 1000 } })
  const { chain } = world
  const made = await Promise.all(Array.from({ length: 131 }, () => chain.newBuyer({ micro: PRICE })))
  buyers = made[Symbol.iterator]()
  await chain.setIntervalMining(2)
  // So that the last blocks tell how long one takes.
  const height = async () => (await chain.client.getBlock()).number
  const first = await height()
  await eventually(async () => (await height()) >= first + 3n)
})
afterAll(() => world.stop())

/** So many buyers, some of them at once. */
async function buy(count: number, atOnce: number): Promise<void> {
  let left = count
  const queue = async () => {
    while (left-- > 0) {
      const { accepts } = await world.terms({ planId: 'basic' })
      const header = await world.sign(buyers.next().value!, accepts[0]!)
      expect(await world.payUntilDecided(header)).toMatchObject({ status: 200 })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, queue))
}

test('a lone purchase takes at most 15 calls, even the first', async () => {
  const remote = world.remote!
  remote.reset()
  await buy(1, 1)
  expect(remote.total(), JSON.stringify(remote.calls)).toBeLessThanOrEqual(15)
})

test('100 purchases, 50 at once, take about 2 calls each', async () => {
  const remote = world.remote!
  remote.reset()
  await buy(100, 50)
  // On a busy machine they arrive less close together and are split into a few more transactions, each of which is asked
  // for: hence a tenth more than 200.
  expect(remote.total(), JSON.stringify(remote.calls)).toBeLessThanOrEqual(220)
})

test('of a node that takes ten calls a second, 30 purchases, 15 at once, are finished within a minute', async () => {
  const remote = world.remote!
  remote.callsPerSecond = 10
  remote.reset()
  await buy(30, 15)
  expect(remote.refused, 'there was something to cope with').toBeGreaterThan(0)
  expect(remote.refused, 'and hardly anything was asked in vain').toBeLessThan(remote.total() / 2)
})
