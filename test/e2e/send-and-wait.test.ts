import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { SEND_AND_WAIT } from '../../src/chain/send-and-wait.ts'
import { PRICE, startWorld, type World } from './world.ts'

const SEND = 'eth_sendRawTransaction'

let world: World

/** Blocks every 2 s, on which a purchase would be asked for again and again if the send did not wait for its block. */
beforeAll(async () => {
  world = await startWorld({ remote: {}, blockTimeSeconds: 2, options: { pollIntervalMs: 25 } })
})
afterAll(() => world.stop())
beforeEach(() => Object.assign(world.remote!, { lacks: [], withholds: [] }))

/** One purchase of a new buyer, charged once; answers which calls it took. */
async function buyOne(): Promise<Record<string, number>> {
  const buyer = await world.chain.newBuyer({ micro: PRICE })
  const books = await world.ledger(buyer)
  const { accepts } = await world.terms({ planId: 'basic' })
  const header = await world.sign(buyer, accepts[0]!)
  world.remote!.reset()
  expect(await world.payUntilDecided(header)).toMatchObject({ status: 200 })
  const { calls } = world.remote!
  expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  return calls
}

test('a send waits for its block, and the chain is not asked in the meantime', async () => {
  // The first shows which form of the call the node wants.
  await buyOne()
  const calls = await buyOne()
  expect(calls).toMatchObject({ [SEND_AND_WAIT]: 1 })
  expect(calls).not.toHaveProperty(SEND)
  const total = Object.values(calls).reduce((sum, count) => sum + count, 0)
  // Jobs ask the chain too, some of them in this time; looking for the payment every 25 ms would take far more.
  expect(total, JSON.stringify(calls)).toBeLessThanOrEqual(30)
})

test('a send whose answer never comes is unknown: the plain call follows, and the payment is charged once', async () => {
  world.remote!.withholds = [SEND_AND_WAIT]
  expect(await buyOne()).toMatchObject({ [SEND_AND_WAIT]: 1 })
  // The node is left alone with it for a while.
  expect(await buyOne()).toMatchObject({ [SEND]: 1 })
})

test('a node without the method gets the plain call, and is asked for the method once', async () => {
  await world.restart()
  world.remote!.lacks = [SEND_AND_WAIT]
  expect(await buyOne()).toMatchObject({ [SEND_AND_WAIT]: 1, [SEND]: 1 })
  const calls = await buyOne()
  expect(calls).toMatchObject({ [SEND]: 1 })
  expect(calls).not.toHaveProperty(SEND_AND_WAIT)
})
