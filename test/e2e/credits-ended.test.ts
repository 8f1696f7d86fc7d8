import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithSIWx } from '@x402/extensions'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { CALL_PRICE, ROUTES, type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { answerOf, eventually, PRICE } from './world.ts'

const routes = ROUTES.map((route) => (route.routeId === 'weather' ? { ...route, credits: 1 } : route))
const plans = [{ planId: 'basic', unitAmount: '$1.00', credits: 2 }]

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld({ options: { routes, plans } })
})
afterAll(() => shop.stop())

/** Buys what its wallet does not own by sign-in. */
function official({ account }: DevAccount): typeof fetch {
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(account))
  return wrapFetchWithPayment(wrapFetchWithSIWx(fetch, account) as typeof fetch, client) as typeof fetch
}

const askForPlan = async (client: typeof fetch) =>
  answerOf(
    await client(`${shop.world.baseUrl}/x402/access`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ planId: 'basic' }),
    }),
  )

const call = (token: string, more: Record<string, string> = {}) =>
  shop.call('/weather/paris', { headers: { authorization: `Bearer ${token}`, ...more } })

test('a purchase whose credits went back opens nothing any more, and is sold again', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: 2n * PRICE })
  const client = official(buyer)
  const { body: grant } = await askForPlan(client)
  const enter = () =>
    shop.world.gateway.verifyAccess(
      new Request(grant.resourceEndpoint!, { headers: { authorization: `Bearer ${grant.accessToken}` } }),
    )
  expect((await enter()).ok).toBe(true)
  expect((await askForPlan(client)).body).toMatchObject({ challengeId: grant.challengeId })
  await shop.world.gateway.closeCredits(grant.challengeId!)
  expect(await enter()).toMatchObject({
    ok: false,
    error: { code: 'UNAUTHORIZED', message: expect.stringContaining('unspent ones refunded') },
  })
  const again = await askForPlan(client)
  expect(again.status).toBe(200)
  expect(again.body.challengeId).not.toBe(grant.challengeId)
  expect((await call(again.body.accessToken!)).status).toBe(200)
})

test('a wallet that has spent its credits buys more by the client that signs in', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: 2n * PRICE })
  const client = official(buyer)
  const { body: grant } = await askForPlan(client)
  for (const remaining of ['1', '0']) {
    expect((await call(grant.accessToken!)).headers.get('x-svc-credits-remaining')).toBe(remaining)
    const owned = await askForPlan(client)
    if (remaining === '1') expect(owned.body.challengeId).toBe(grant.challengeId)
    else expect(owned.body.challengeId).not.toBe(grant.challengeId)
  }
  expect((await shop.world.flows(buyer)).paid).toEqual([PRICE, PRICE])
  // All purchases of an account are spent together.
  expect((await call(grant.accessToken!)).headers.get('x-svc-credits-remaining')).toBe('1')
})

test('who has no credits left pays for the single call, named by its Idempotency-Key: once, however often it is signed', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: PRICE + 3n * CALL_PRICE })
  const { body: grant } = await shop.world.buy(buyer)
  for (const status of [200, 200, 402]) expect((await call(grant.accessToken!)).status).toBe(status)
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(buyer.account))
  const pay = wrapFetchWithPayment(fetch, client)
  const headers = {
    authorization: `Bearer ${grant.accessToken}`,
    'idempotency-key': `call-of-${buyer.address}`,
  }
  const paid = async (path: string) => answerOf(await pay(shop.world.baseUrl + path, { headers }))
  const first = await paid('/weather/paris')
  expect(first).toMatchObject({ status: 200, body: { requestId: headers['idempotency-key'] } })
  const again = await paid('/weather/paris')
  expect(again).toMatchObject({ status: 200, body: { challengeId: first.body.challengeId } })
  expect((await paid('/weather/rome')).status).toBe(400)
  expect((await shop.world.flows(buyer)).paid).toEqual([PRICE, CALL_PRICE])
})

test('a wallet that signs in and names the call pays for it once, and the same payload fetches the answer again', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: PRICE + 2n * CALL_PRICE })
  const { body: grant } = await shop.world.buy(buyer)
  for (const status of [200, 200]) expect((await call(grant.accessToken!)).status).toBe(status)
  const sent: string[] = []
  const watched: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const payment = request.headers.get('payment-signature')
    if (payment !== null) sent.push(payment)
    return fetch(request)
  }
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(buyer.account))
  const enter = wrapFetchWithPayment(wrapFetchWithSIWx(watched, buyer.account) as typeof fetch, client)
  const headers = { 'x-svc-resource-id': 'default', 'idempotency-key': `signed-in-${buyer.address}` }
  const first = await answerOf(await enter(`${shop.world.baseUrl}/weather/paris`, { headers }))
  expect(first.status).toBe(200)
  const again = await shop.call('/weather/paris', { headers }, sent.at(-1))
  expect(again).toMatchObject({ status: 200, body: { challengeId: first.body.challengeId } })
  expect((await shop.call('/weather/rome', { headers }, sent.at(-1))).status).toBe(409)
  expect((await shop.world.flows(buyer)).paid).toEqual([PRICE, CALL_PRICE])
})

test('a payment named as an earlier offer was is answered again by its own payload', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: CALL_PRICE })
  await shop.termsOf('/weather/paris', { headers: { 'idempotency-key': 'named-before' } })
  const { header } = await shop.signFor(buyer, '/weather/paris')
  const payload = decodeJsonObject(header)
  const extensions = { 'payment-identifier': { info: { id: 'named-before' } } }
  const named = Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64')
  const first = await shop.call('/weather/paris', {}, named)
  expect(first.status).toBe(200)
  expect((await shop.call('/weather/paris', {}, named)).status).toBe(200)
  expect((await shop.world.flows(buyer)).paid).toEqual([CALL_PRICE])
})

test('a call that holds the last credits is no reason to sell the plan again', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: 2n * PRICE })
  const client = official(buyer)
  const { body: grant } = await askForPlan(client)
  const { answer } = shop.backend
  const held: Array<() => void> = []
  shop.backend.answer = (_call, response) => void held.push(() => response.writeHead(500).end('no'))
  const calls = [call(grant.accessToken!), call(grant.accessToken!)]
  await eventually(() => held.length === 2)
  expect((await askForPlan(client)).body.challengeId).toBe(grant.challengeId)
  for (const end of held) end()
  await Promise.all(calls)
  shop.backend.answer = answer
  expect((await shop.world.flows(buyer)).paid).toEqual([PRICE])
})
