import { SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { DiscoveryCatalog } from '../../src/protocol/catalog.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { EMBEDDED } from './frameworks-apps.ts'
import { sellersAnswer } from './frameworks-buyer.ts'
import { CENT, type Seller } from './frameworks-seller.ts'
import { STANDALONE } from './frameworks-standalone.ts'
import { type SellerWorld, startSellerWorld } from './frameworks-world.ts'
import { offeredIn, proofHeader, SIGN_IN } from './sign-in-client.ts'
import { eventually, PRICE, TOKEN_SECRET, type World } from './world.ts'

const JSON_BODY = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ text: 'naïve ☃', list: [1, 2] }),
}

describe.each([
  ...EMBEDDED.map((app) => ({ ...app, basePath: '' })),
  ...EMBEDDED.map((app) => ({ ...app, name: `${app.name} below /pay`, basePath: '/pay' })),
  { ...STANDALONE, basePath: '' },
])('selling calls with $name', ({ prepare, embedded, basePath }) => {
  let world: World
  let seller: Seller
  let origin: string
  let calls: SellerWorld['calls']
  beforeAll(async () => {
    ;({ world, seller, origin, calls } = await startSellerWorld(prepare, basePath))
  })
  afterAll(() => world.stop())
  beforeEach(() => seller.startOver())

  const newBuyer = (micro = 10n * CENT) => world.chain.newBuyer({ micro })

  test('a call without payment gets terms for exactly this call, and the handler does not run', async () => {
    const path = '/sell/weather/Z%C3%BCrich?units=metric&units=c'
    const response = await fetch(origin + path)
    expect(response.status).toBe(402)
    const body = (await response.json()) as PaymentRequired
    expect(body).toMatchObject({
      x402Version: 2,
      resource: { url: origin + path, method: 'GET' },
      accepts: [{ amount: CENT.toString(), payTo: expect.any(String), extra: { routeId: 'weather' } }],
    })
    expect(decodeJsonObject(response.headers.get('payment-required') ?? '')).toMatchObject({
      challengeId: body.challengeId,
    })
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('www-authenticate')).toMatch(/^Payment /)
    expect(seller.runs).toEqual([])
  })

  test('a payment opens no other call: not another path, query or route', async () => {
    const buyer = await newBuyer()
    const { header, send } = await calls.prepare(buyer, '/sell/weather/paris?units=metric')
    for (const other of ['/sell/weather/rome?units=metric', '/sell/weather/paris', '/sell/moody']) {
      const refused = await calls.pay(other, header)
      expect(refused.status, other).toBeGreaterThanOrEqual(400)
      expect(await refused.json()).toMatchObject({ type: 'Error' })
    }
    expect(seller.runs).toEqual([])
    expect(await world.flows(buyer), 'nothing was charged').toEqual({ paid: [], refunded: [] })
    expect((await send()).status).toBe(200)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  test('once paid the seller’s answer goes out, with the receipt; a replay runs nothing', async () => {
    const buyer = await newBuyer()
    const books = await world.ledger(buyer)
    const { challengeId, send } = await calls.prepare(buyer, '/sell/weather/paris?units=metric')
    const response = await send()
    expect(response.status).toBe(200)
    if (embedded) expect(response.headers.get('x-seller')).toBe('own')
    expect(response.headers.get('cache-control')).toBe('no-store, private')
    const receipt = decodeJsonObject(response.headers.get('payment-response') ?? '')!
    const { payment } = seller.runs[0]!
    expect(payment).toMatchObject({
      payer: buyer.address.toLowerCase(),
      amount: CENT.toString(),
      routeId: 'weather',
      challengeId,
      txHash: receipt.transaction,
    })
    expect(receipt).toMatchObject({ success: true, payer: buyer.address.toLowerCase() })
    const answer = await sellersAnswer(response)
    expect(answer.body).toEqual({ city: 'paris', query: { units: 'metric' } })
    await eventually(async () => (await world.status(challengeId)).state === 'DELIVERED')

    const again = await send()
    if (embedded) {
      expect(again.status).toBe(409)
      expect(await again.json()).toMatchObject({ code: 'TX_ALREADY_REDEEMED' })
    } else {
      expect(again.headers.get('x-svc-code')).toBe('PROOF_ALREADY_REDEEMED')
      expect(await sellersAnswer(again)).toEqual(answer)
    }
    expect(seller.count(challengeId)).toBe(1)
    expect(await books.changes()).toEqual({ seller: CENT, buyers: [-CENT] })
  })

  test('the official client pays afresh for every call; query and body reach the handler', async () => {
    const buyer = await newBuyer()
    const books = await world.ledger(buyer)
    const official = calls.official(buyer)
    for (const city of ['lima', 'quito']) {
      const response = await official(`/sell/weather/${city}?day=2`)
      expect(response.status).toBe(200)
      expect((await sellersAnswer(response)).body).toEqual({ city, query: { day: '2' } })
    }
    const echoed = await sellersAnswer(await official('/sell/echo', JSON_BODY))
    expect(echoed).toMatchObject({ status: 201, body: { got: JSON.parse(JSON_BODY.body) } })
    expect(new Set(seller.runs.map(({ payment }) => payment?.txHash)).size).toBe(3)
    expect(await books.changes()).toEqual({ seller: 3n * CENT, buyers: [-3n * CENT] })
  })

  test('the whole gateway is there: catalog, plans, status, preflight, health', async () => {
    const catalog = (await (await fetch(`${world.baseUrl}/discover`)).json()) as DiscoveryCatalog
    expect(catalog.routes.map(({ routeId }) => routeId)).toContain('weather')
    expect((await fetch(`${world.baseUrl}/health`)).status).toBe(200)
    const preflight = await fetch(`${world.baseUrl}/x402/access`, { method: 'OPTIONS' })
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    const buyer = await newBuyer(PRICE)
    const { status, body } = await world.buy(buyer, { planId: 'basic' })
    expect({ status, body }).toMatchObject({ status: 200, body: { type: 'AccessGrant', planId: 'basic' } })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    expect((await world.access({})).status).toBe(400)
  })

  if (embedded) {
    test('the seller’s other routes, body parsers and preflights are left alone', async () => {
      expect(await (await fetch(`${origin}/own/hello`)).text()).toBe('hello')
      const echoed = await fetch(`${origin}/own/json`, JSON_BODY)
      expect(await echoed.json()).toEqual({ got: JSON.parse(JSON_BODY.body) })
      expect((await fetch(`${origin}/own/absent`)).headers.get('x-svc-code')).toBeNull()
      const preflight = await fetch(`${origin}/own/absent`, { method: 'OPTIONS' })
      expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
    })

    test('a bought token opens its own resource and plan; everybody else gets a 401', async () => {
      const buyer = await newBuyer(PRICE)
      const { body } = await world.buy(buyer, { planId: 'basic', resourceId: 'r1' })
      const token = body.accessToken!
      const get = (path: string, authorization?: string) =>
        fetch(origin + path, { headers: { ...(authorization && { authorization }) } })
      const open = await get('/resource/r1', `Bearer ${token}`)
      expect(open.status).toBe(200)
      expect(await open.json()).toEqual({ wallet: buyer.address.toLowerCase() })

      const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const expired = await new SignJWT({ ...claims, exp: Math.floor(Date.now() / 1000) - 5 })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(Buffer.from(TOKEN_SECRET))
      const refused: Array<[string, string | undefined]> = [
        ['/resource/r1', undefined],
        ['/resource/r1', `Bearer ${part({ alg: 'none' })}.${part(claims)}.`],
        ['/resource/r1', `Bearer ${expired}`],
        ['/resource/r1', `Bearer ${token.slice(0, -4)}AAAA`],
        ['/resource/r1', token],
        ['/resource/r2', `Bearer ${token}`],
        ['/pro', `Bearer ${token}`],
      ]
      for (const [path, authorization] of refused) {
        const response = await get(path, authorization)
        expect(response.status, `${path} ${authorization}`).toBe(401)
        expect(response.headers.get('www-authenticate')).toBe('Bearer')
        expect(await response.json()).toMatchObject({ type: 'Error', code: 'UNAUTHORIZED', httpStatus: 401 })
      }

      // The wallet that bought it needs no token: it signs for this very address, once.
      const asked = async (path: string) => offeredIn(await (await get(path)).json())
      const proof = await proofHeader(await asked('/resource/r1'), buyer)
      const signIn = (path: string, header: string) =>
        fetch(origin + path, { headers: { [SIGN_IN]: header } })
      const entered = await signIn('/resource/r1', proof)
      expect([entered.status, await entered.json()]).toEqual([200, { wallet: buyer.address.toLowerCase() }])
      expect((await signIn('/resource/r1', proof)).status, 'replayed').toBe(401)
      for (const path of ['/resource/r2', '/pro']) {
        expect((await signIn(path, await proofHeader(await asked(path), buyer))).status, path).toBe(401)
      }
      const stranger = await newBuyer()
      expect(
        (await signIn('/resource/r1', await proofHeader(await asked('/resource/r1'), stranger))).status,
      ).toBe(401)
    })
  }
})
