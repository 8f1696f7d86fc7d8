import { afterEach, beforeEach, expect, test } from 'vitest'
import type { DevAccount } from '../../src/testing/index.ts'
import { ROUTES, type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { offeredIn, proofHeader, SIGN_IN } from './sign-in-client.ts'
import { PRICE } from './world.ts'

const routes = ROUTES.map((route) => (route.routeId === 'weather' ? { ...route, credits: 1 } : route))
const CALLS = { planId: 'calls', unitAmount: '$1.00', credits: 3 }
const PATH = '/weather/paris'
const BALANCE = '/x402/credits'

let shop: RoutesWorld
beforeEach(async () => {
  shop = await startRoutesWorld({ store: 'embedded', options: { routes, plans: [CALLS] } })
})
afterEach(() => shop.stop())

async function signedIn(path: string, buyer: DevAccount) {
  const proof = await proofHeader(offeredIn((await shop.call(path)).body), buyer)
  return shop.call(path, { headers: { [SIGN_IN]: proof } })
}

/** A purchase of the plan, which is no longer sold afterwards. */
async function boughtBefore(plans: Array<{ planId: string; unitAmount: string; credits?: number }>) {
  const buyer = await shop.world.chain.newBuyer({ micro: PRICE })
  const { body } = await shop.world.buy(buyer, { planId: 'calls' })
  await shop.world.restart({ plans })
  return { buyer, headers: { authorization: `Bearer ${body.accessToken}` } }
}

test('credits of the only plan that had any are spent, by token and by sign-in, after it is no longer sold', async () => {
  const { buyer, headers } = await boughtBefore([])
  const spent = await shop.call(PATH, { headers })
  expect(spent).toMatchObject({ status: 200, body: { credits: { planId: 'calls', remaining: 2 } } })
  expect(await signedIn(PATH, buyer)).toMatchObject({ status: 200, body: { credits: { remaining: 1 } } })
  expect(await shop.call(BALANCE, { headers })).toMatchObject({
    status: 200,
    body: { planId: 'calls', granted: 3, remaining: 1 },
  })
  expect(await signedIn(BALANCE, buyer)).toMatchObject({
    status: 200,
    body: { planId: 'calls', remaining: 1 },
  })
  expect((await shop.call(PATH, { headers })).status).toBe(200)
  const empty = await shop.call(PATH, { headers })
  expect(empty).toMatchObject({ status: 402, body: { code: 'CREDITS_EXHAUSTED' } })
  expect(empty.body).not.toHaveProperty('topUp')
  await shop.world.restart({ plans: [] })
  expect((await shop.call(BALANCE, { headers })).body).toMatchObject({ remaining: 0 })
})

test('another plan with credits in its place does not hide them', async () => {
  const { buyer, headers } = await boughtBefore([{ planId: 'new', unitAmount: '$1.00', credits: 9 }])
  expect(await signedIn(PATH, buyer)).toMatchObject({
    status: 200,
    body: { credits: { planId: 'calls', remaining: 2 } },
  })
  expect(await signedIn(BALANCE, buyer)).toMatchObject({ body: { planId: 'calls', remaining: 2 } })
  expect((await shop.call(PATH, { headers })).body).toMatchObject({ credits: { remaining: 1 } })
})

test('where tokens can no longer be checked, a token is none of ours and the call may be paid', async () => {
  const { headers } = await boughtBefore([])
  await shop.world.restart({ plans: [], tokenSecret: undefined })
  const terms = await shop.call(PATH, { headers })
  expect([terms.status, terms.body.accepts?.length]).toEqual([402, 1])
})
