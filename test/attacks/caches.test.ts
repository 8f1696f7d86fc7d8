import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, PRICE, startWorld, type World } from '../e2e/world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld({
    options: {
      tokenSecret: undefined,
      fetchResourceCredentials: (planId) => {
        if (planId === 'pro') throw new Error('always fails')
        return 'an-api-key'
      },
    },
  })
})
afterAll(() => world.stop())

const cachingOf = ({ headers }: Answer) => headers.get('cache-control')

test('attack 31: no shared cache may keep a paid answer: fresh, replayed, or failed after the payment', async () => {
  const buyer = await world.chain.newBuyer({ micro: 4n * PRICE })
  const { accepts } = await world.terms()
  const header = await world.sign(buyer, accepts[0]!)
  const [fresh, again] = [await world.pay(header), await world.pay(header)]
  expect([fresh.status, again.status]).toEqual([200, 200])
  const failed = await world.buy(buyer, { planId: 'pro' })
  expect(failed.status).toBe(502)
  expect([fresh, again, failed].map(cachingOf)).toEqual(Array(3).fill('no-store, private'))
  for (const { headers } of [fresh, again, failed]) {
    expect(headers.get('etag')).toBeNull()
    expect(headers.get('last-modified')).toBeNull()
    expect(headers.get('expires')).toBeNull()
  }
  expect(await world.flows(buyer)).toMatchObject({ paid: [PRICE, 2_500_000n] })
})

test('attack 31: no cache may keep a challenge, a failure or a status', async () => {
  const broke = await world.chain.newBuyer()
  const challenge = await world.access({ planId: 'basic' })
  const failures = [
    await world.access({}),
    await world.access({ planId: 'nope' }),
    await world.pay('not-base64!'),
    await world.buy(broke),
  ]
  expect(failures.map(({ status }) => status)).toEqual([400, 400, 400, 402])
  const status = await fetch(`${world.baseUrl}/x402/challenges/${challenge.body.challengeId}`)
  const caching = [...[challenge, ...failures].map(cachingOf), status.headers.get('cache-control')]
  for (const value of caching) expect(value).toMatch(/^no-store/)
})
