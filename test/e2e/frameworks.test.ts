import { SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { DiscoveryCatalog } from '../../src/protocol/catalog.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { EMBEDDED } from './frameworks-apps.ts'
import { callsAt, sellersAnswer } from './frameworks-buyer.ts'
import { heldBytes } from './frameworks-memory.ts'
import { CENT, DOWNLOAD_BYTES, ROUTES, Seller } from './frameworks-seller.ts'
import { STANDALONE } from './frameworks-standalone.ts'
import { offeredIn, proofHeader, SIGN_IN } from './sign-in-client.ts'
import { eventually, PRICE, startWorld, TOKEN_SECRET, type World } from './world.ts'

const MIB = 1024 * 1024
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
  let calls: ReturnType<typeof callsAt>
  beforeAll(async () => {
    seller = new Seller()
    const { start, options } = await prepare(seller)
    world = await startWorld({
      basePath,
      serve: (gateway, port) => start({ gateway, seller, basePath, port }),
      options: { routes: ROUTES, refundMinAgeSeconds: 2, ...options },
    })
    origin = new URL(world.baseUrl).origin
    calls = callsAt(world, origin)
  })
  afterAll(() => world.stop())
  beforeEach(() => {
    seller.mood = 'good'
    seller.runs.length = 0
    seller.producedBytes = 0
    seller.closeGate()
  })

  const newBuyer = (micro = 10n * CENT) => world.chain.newBuyer({ micro })

  /** Pays for a call and is gone before its handler, which is still at it, has an answer. */
  async function leaveEarly(buyer: DevAccount): Promise<{ challengeId: string }> {
    const { challengeId, send } = await calls.prepare(buyer, '/sell/slow')
    const leave = new AbortController()
    const lost = send({ signal: leave.signal }).catch(() => 'left')
    await eventually(() => seller.count(challengeId) === 1)
    leave.abort()
    expect(await lost).toBe('left')
    // The server must have noticed; it says so to nobody.
    await new Promise((turn) => setTimeout(turn, 50))
    return { challengeId }
  }

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

  // What follows does not depend on where the gateway is mounted.
  if (basePath !== '') return

  test('of many copies of one paid call sent at once, one runs the handler', async () => {
    const buyer = await newBuyer()
    const { challengeId, send } = await calls.prepare(buyer, '/sell/weather/oslo')
    const statuses = (await Promise.all(Array.from({ length: 5 }, () => send()))).map(({ status }) => status)
    expect(statuses.sort()).toEqual(embedded ? [200, 409, 409, 409, 409] : [200, 200, 200, 200, 200])
    expect(seller.count(challengeId)).toBe(1)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  test.each(['answers-500', 'throws'] as const)(
    'a handler that %s keeps the money reachable: the same payment runs it again for nothing',
    async (mood) => {
      const buyer = await newBuyer()
      const { challengeId, send } = await calls.prepare(buyer, '/sell/moody')
      seller.mood = mood
      expect((await sellersAnswer(await send())).status).toBe(500)
      expect(await world.status(challengeId)).toMatchObject({ state: 'PAID' })
      expect((await sellersAnswer(await send())).status).toBe(500)
      seller.mood = 'good'
      const mended = await send()
      expect(mended.headers.get('payment-response')).toBeTruthy()
      expect(await sellersAnswer(mended)).toMatchObject({ status: 200, body: { mood: 'good' } })
      expect((await send()).status).toBe(embedded ? 409 : 200)
      expect(seller.count(challengeId)).toBe(3)
      expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
    },
  )

  test('a client that leaves before the answer has had it as well, once the handler is good', async () => {
    const buyer = await newBuyer()
    const { challengeId } = await leaveEarly(buyer)
    seller.gate.open()
    await world.until(challengeId, 'DELIVERED')
    expect(seller.count(challengeId)).toBe(1)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  test('calls whose handler failed, watched or not, are refunded once and can no longer be had', async () => {
    const [buyer, absent] = [await newBuyer(), await newBuyer()]
    const books = await world.ledger(buyer, absent)
    const left = await leaveEarly(absent)
    seller.mood = 'throws'
    seller.gate.open()
    const { challengeId, send } = await calls.prepare(buyer, '/sell/moody')
    expect((await sellersAnswer(await send())).status).toBe(500)
    expect(await books.changes()).toEqual({ seller: 2n * CENT, buyers: [-CENT, -CENT] })
    await Promise.all([world.until(challengeId, 'REFUNDED'), world.until(left.challengeId, 'REFUNDED')])
    seller.mood = 'good'
    const late = await send()
    expect(late.status).toBe(410)
    expect(await late.json()).toMatchObject({ code: 'CHALLENGE_REFUNDED' })
    expect([seller.count(challengeId), seller.count(left.challengeId)]).toEqual([1, 1])
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [CENT] })
    expect(await world.flows(absent)).toEqual({ paid: [CENT], refunded: [CENT] })
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n, 0n] })
  })

  test('a client that leaves while its payment settles does not stop the call', async () => {
    const buyer = await newBuyer()
    const { challengeId, send } = await calls.prepare(buyer, '/sell/weather/rome')
    await world.chain.setAutomine(false)
    const leave = new AbortController()
    const lost = send({ signal: leave.signal }).catch(() => 'left')
    await eventually(async () => (await world.chain.client.getTxpoolStatus()).pending > 0)
    leave.abort()
    expect(await lost).toBe('left')
    await world.chain.setAutomine(true)
    await world.until(challengeId, 'DELIVERED')
    expect(seller.count(challengeId)).toBe(1)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  // The standalone gateway caps and stores answers, and takes nothing but 2xx for a delivery.
  if (!embedded) return

  test('50 MiB stream through without being held, and count as delivered while they still flow', async () => {
    const buyer = await newBuyer()
    const { challengeId, send } = await calls.prepare(buyer, '/sell/download')
    const before = heldBytes()
    const response = await send()
    expect(response.status).toBe(200)
    expect(response.headers.get('payment-response')).toBeTruthy()
    const reader = response.body!.getReader()
    await reader.read()
    // The reader pauses: whatever is not held back now would be held in memory.
    await eventually(async () => (await world.status(challengeId)).state === 'DELIVERED')
    expect(seller.producedBytes, 'nobody buffers').toBeLessThan(DOWNLOAD_BYTES / 2)
    let received = 0
    let looks = 0
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      received += read.value.byteLength
      expect(seller.producedBytes - received).toBeLessThan(DOWNLOAD_BYTES / 2)
      if (received > looks * 5 * MIB) {
        looks++
        expect(heldBytes() - before, `after ${received} bytes`).toBeLessThan(DOWNLOAD_BYTES / 2)
      }
    }
    expect(seller.producedBytes).toBe(DOWNLOAD_BYTES)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })

  test('a 404 of the handler is no delivery, and says so, unless the route says otherwise', async () => {
    const buyer = await newBuyer()
    seller.mood = 'answers-404'
    const usual = await calls.prepare(buyer, '/sell/moody')
    const failed = await usual.send()
    expect([failed.status, await failed.json()]).toEqual([404, { mood: 'answers-404' }])
    expect(decodeJsonObject(failed.headers.get('payment-response') ?? '')).toMatchObject({ success: true })
    expect(failed.headers.get('x-svc-code')).toBe('DELIVERY_FAILED')
    expect(failed.headers.get('x-svc-refund')).toBe('SCHEDULED')
    expect(Date.parse(failed.headers.get('x-svc-refund-when') ?? '')).toBeGreaterThan(Date.now() - 60_000)
    const statusUrl = failed.headers.get('x-svc-status-url') ?? ''
    expect(await (await fetch(statusUrl)).json()).toMatchObject({ state: 'PAID' })

    const lenient = await calls.prepare(buyer, '/sell/lenient')
    const answer = await lenient.send()
    expect([answer.status, answer.headers.get('x-svc-refund')]).toEqual([404, null])
    await eventually(async () => (await world.status(lenient.challengeId)).state === 'DELIVERED')
    expect((await lenient.send()).status).toBe(409)
    seller.mood = 'good'
    await world.until(usual.challengeId, 'REFUNDED')
    expect(await world.flows(buyer)).toEqual({ paid: [CENT, CENT], refunded: [CENT] })
  })

  test('a client that leaves in the middle of the answer has had it', async () => {
    const buyer = await newBuyer()
    const { challengeId, send } = await calls.prepare(buyer, '/sell/download')
    const leave = new AbortController()
    const response = await send({ signal: leave.signal })
    await response.body!.getReader().read()
    leave.abort()
    await world.until(challengeId, 'DELIVERED')
    expect(seller.producedBytes).toBeLessThan(DOWNLOAD_BYTES)
    expect((await send()).status).toBe(409)
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
  })
})
