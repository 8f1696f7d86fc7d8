import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FetchResource } from '../../src/ports.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { CALL_PRICE, ROUTES, type RoutesWorld, startRoutesWorld } from './routes-world.ts'

describe('routes answered by fetchResource', () => {
  let routes: RoutesWorld
  const asked: Array<Parameters<FetchResource>[0]> = []
  let answer: FetchResource = () => ({ status: 200, body: { sky: 'clear' } })
  beforeAll(async () => {
    routes = await startRoutesWorld({
      options: {
        proxyTo: undefined,
        refundMinAgeSeconds: 1,
        fetchResource: (call) => {
          asked.push(call)
          return answer(call)
        },
      },
    })
  })
  afterAll(() => routes.stop())

  test('a paid call is answered once, and its replay from the store', async () => {
    const { world } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header } = await routes.signFor(buyer, '/weather/paris?x=1')
    const first = await routes.call('/weather/paris?x=1', {}, header)
    expect(first.body.resource).toEqual({
      status: 200,
      body: { sky: 'clear' },
      contentType: 'application/json',
    })
    expect((await routes.call('/weather/paris?x=1', {}, header)).body).toEqual(first.body)
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({
      routeId: 'weather',
      method: 'GET',
      path: '/weather/paris?x=1',
      body: null,
      payment: { txHash: first.body.txHash, payer: buyer.address.toLowerCase(), amount: String(CALL_PRICE) },
    })
  })

  test('code that throws is 502; the payment goes back and the operator reads why', async () => {
    const { world } = routes
    answer = () => {
      throw new Error('no licence at 10.0.0.7')
    }
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header, required } = await routes.signFor(buyer, '/weather/paris')
    const failed = await routes.call('/weather/paris', {}, header)
    expect(failed.body.resource).toEqual({ status: 502, body: { error: 'fetchResource failed' } })
    expect(world.alerts).toContainEqual({
      kind: 'delivery-failed',
      message: expect.stringContaining('10.0.0.7'),
    })
    await world.until(required.challengeId, 'REFUNDED')
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [CALL_PRICE] })
  })

  test('a free route needs no payment', async () => {
    answer = ({ payment }) => Response.json({ payment }, { headers: { 'x-own': '1' } })
    const free = await fetch(`${routes.world.baseUrl}/cities`)
    expect([free.status, free.headers.get('x-own'), await free.json()]).toEqual([200, '1', { payment: null }])
  })
})

describe('routes that only the seller’s own server answers', () => {
  let routes: RoutesWorld
  beforeAll(async () => {
    routes = await startRoutesWorld({ options: { proxyTo: undefined, routes: ROUTES } })
  })
  afterAll(() => routes.stop())

  test('are refused at the gateway before anything is asked or charged', async () => {
    const { world } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const body = { routeId: 'weather', resource: { method: 'GET', path: '/weather/paris' } }
    const refused = {
      status: 400,
      body: { code: 'INVALID_REQUEST', message: expect.stringContaining("seller's own server") },
    }
    expect(await world.access(body)).toMatchObject(refused)
    expect(await routes.call('/weather/paris')).toMatchObject({
      status: 404,
      body: { code: 'INVALID_REQUEST', hint: expect.stringContaining("seller's own server") },
    })

    const charged = await world.gateway.chargeRoute(new Request('http://x/weather/paris'), 'weather')
    if (charged.kind !== 'respond') throw new Error('expected a 402')
    const required = (await charged.response.json()) as PaymentRequired
    const header = await world.sign(buyer, required.accepts[0]!)
    expect(await world.pay(header, body)).toMatchObject(refused)
    expect(await world.pay(header), 'by the echo alone').toMatchObject(refused)
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test('are charged by chargeRoute: once, finished by the handler, never twice', async () => {
    const { world } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const ask = (header?: string) =>
      world.gateway.chargeRoute(
        new Request('http://x/weather/paris?u=c', { headers: header ? { 'payment-signature': header } : {} }),
        'weather',
      )
    const unpaid = await ask()
    if (unpaid.kind !== 'respond') throw new Error('expected a 402')
    const required = (await unpaid.response.json()) as PaymentRequired
    expect(required.resource.url).toBe(`${world.baseUrl}/weather/paris?u=c`)
    const header = await world.sign(buyer, required.accepts[0]!)
    const paid = await ask(header)
    if (paid.kind !== 'paid') throw new Error('expected a payment')
    expect(paid.payment).toMatchObject({ routeId: 'weather', payer: buyer.address.toLowerCase() })
    await paid.finish(404)
    expect((await world.status(required.challengeId)).state).toBe('PAID')

    const again = await ask(header)
    if (again.kind !== 'paid') throw new Error('expected the same payment')
    await again.finish(200)
    expect((await world.status(required.challengeId)).state).toBe('DELIVERED')
    const replay = await ask(header)
    if (replay.kind !== 'respond') throw new Error('expected a refusal')
    expect([replay.response.status, replay.response.headers.get('x-svc-code')]).toEqual([
      409,
      'TX_ALREADY_REDEEMED',
    ])
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })
})
