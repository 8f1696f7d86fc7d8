import { Receipt } from 'mppx'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EMBEDDED } from './frameworks-apps.ts'
import { callsAt } from './frameworks-buyer.ts'
import { CENT, ROUTES, Seller } from './frameworks-seller.ts'
import { mppBuyer, post } from './mpp-buyer.ts'
import { eventually, PRICE, startWorld, type World } from './world.ts'

describe.each(EMBEDDED)('mppx buys from an app in $name', ({ prepare }) => {
  let world: World
  let seller: Seller
  beforeAll(async () => {
    seller = new Seller()
    const { start, options } = await prepare(seller)
    world = await startWorld({
      serve: (gateway, port) => start({ gateway, seller, basePath: '', port }),
      options: { routes: ROUTES, ...options },
    })
  })
  afterAll(() => world.stop())
  beforeEach(() => {
    seller.mood = 'good'
    seller.runs.length = 0
  })

  const newBuyer = () => world.chain.newBuyer({ micro: 5n * PRICE })
  const receiptOf = (response: Response) => Receipt.deserialize(response.headers.get('payment-receipt')!)

  test('a call: the seller’s own answer goes out with a receipt, and the same credential runs nothing again', async () => {
    const buyer = await newBuyer()
    const mppx = mppBuyer(buyer.account)
    const url = `${world.baseUrl}/sell/weather/paris?units=c`
    const response = await mppx.fetch(url)
    expect([response.status, response.headers.get('x-seller')]).toEqual([200, 'own'])
    expect(await response.json()).toEqual({ city: 'paris', query: { units: 'c' } })
    const { payment } = seller.runs[0]!
    expect(payment).toMatchObject({ payer: buyer.address.toLowerCase(), routeId: 'weather' })
    expect(receiptOf(response)).toMatchObject({ method: 'evm', reference: payment!.txHash })
    expect(mppx.signed.times).toBe(1)
    await eventually(async () => (await world.status(payment!.challengeId)).state === 'DELIVERED')
    const headers = { authorization: mppx.sent.at(-1)!.get('authorization')! }
    const again = await fetch(url, { headers })
    expect([again.status, again.headers.get('content-type'), again.headers.get('payment-receipt')]).toEqual([
      409,
      'application/problem+json',
      null,
    ])
    expect(seller.runs).toHaveLength(1)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  test('a call with a body and a bearer token of the seller’s own', async () => {
    const buyer = await newBuyer()
    const mppx = mppBuyer(buyer.account)
    const asked = post({ text: 'naïve ☃' }, { authorization: 'Bearer of-the-seller' })
    const response = await mppx.fetch(`${world.baseUrl}/sell/echo`, asked)
    expect([response.status, await response.json()]).toEqual([201, { got: { text: 'naïve ☃' } }])
    expect(mppx.sent.at(-1)!.get('authorization')).toBe('Bearer of-the-seller')
    expect(receiptOf(response).status).toBe('success')
  })

  test('a handler that fails: no receipt, and the same credential runs it again for nothing', async () => {
    const buyer = await newBuyer()
    const url = `${world.baseUrl}/sell/moody`
    const authorization = await mppBuyer(buyer.account).credential(url)
    seller.mood = 'answers-500'
    const failed = await fetch(url, { headers: { authorization } })
    expect([failed.status, failed.headers.get('payment-receipt')]).toEqual([500, null])
    expect(failed.headers.get('payment-response')).toBeTruthy()
    seller.mood = 'good'
    const mended = await fetch(url, { headers: { authorization } })
    expect([mended.status, receiptOf(mended).status]).toEqual([200, 'success'])
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  test('a plan; and the official x402 client buys from the same 402s', async () => {
    const buyer = await newBuyer()
    const access = `${world.baseUrl}/x402/access`
    const granted = await mppBuyer(buyer.account).fetch(access, post({ planId: 'basic' }))
    expect(await granted.json()).toMatchObject({ type: 'AccessGrant', planId: 'basic' })
    expect(receiptOf(granted).status).toBe('success')
    const official = callsAt(world, world.baseUrl).official(buyer)
    const called = await official('/sell/weather/quito')
    expect([called.status, called.headers.get('payment-receipt')]).toEqual([200, null])
    expect((await official('/x402/access', post({ planId: 'basic' }))).status).toBe(200)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE, CENT, PRICE], refunded: [] })
  })

  test('X-PAYMENT of x402 version 1 is told what to use', async () => {
    const headers = { 'X-PAYMENT': btoa('{"x402Version":1,"scheme":"exact","network":"base-sepolia"}') }
    const response = await fetch(`${world.baseUrl}/sell/weather/paris`, { headers })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('payment-signature'),
    })
    expect(seller.runs).toEqual([])
  })
})
