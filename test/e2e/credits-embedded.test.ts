import { randomBytes } from 'node:crypto'
import { wrapFetchWithSIWx } from '@x402/extensions'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../../src/ports.ts'
import { EMBEDDED } from './frameworks-apps.ts'
import { callsAt } from './frameworks-buyer.ts'
import { CENT, DOWNLOAD_BYTES, ROUTES, Seller } from './frameworks-seller.ts'
import { offeredIn, proofHeader, SIGN_IN } from './sign-in-client.ts'
import { answerOf, eventually, PRICE, startWorld, TOKEN_SECRET, type World } from './world.ts'

const plans = [
  { planId: 'basic', unitAmount: '$1.00', credits: 50 },
  { planId: 'plain', unitAmount: '$1.00' },
]
const withCredits = <R extends { routeId: string }>(route: R): R & { credits?: number } =>
  route.routeId === 'echo' ? route : { ...route, credits: 2 }

describe.each(EMBEDDED)('prepaid calls with $name', ({ prepare }) => {
  let world: World
  let seller: Seller
  let store: Store
  let origin: string
  beforeAll(async () => {
    seller = new Seller()
    const { start, options } = await prepare(seller)
    world = await startWorld({
      serve: (gateway, port) => start({ gateway, seller, basePath: '', port }),
      options: { ...options, plans, routes: (options.routes ?? ROUTES).map(withCredits) },
      instruments: {
        store(opened) {
          store = opened
          return opened
        },
      },
    })
    origin = world.baseUrl
  })
  afterAll(() => world.stop())
  beforeEach(() => seller.startOver())

  async function buyToken(planId = 'basic'): Promise<{ token: string; challengeId: string }> {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const { status, body } = await world.buy(buyer, { planId })
    expect(status).toBe(200)
    return { token: `Bearer ${body.accessToken}`, challengeId: body.challengeId! }
  }
  const call = (token: string, path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(origin + path, { ...init, headers: { authorization: token, ...headers } })
  const debitOf = ({ status, headers }: Response) => [
    status,
    headers.get('x-svc-credits-charged'),
    headers.get('x-svc-credits-remaining'),
  ]
  async function left(token: string): Promise<number> {
    const answer = await fetch(`${origin}/x402/credits`, { headers: { authorization: token } })
    const { remaining, reserved } = (await answer.json()) as { remaining: number; reserved: number }
    return remaining + reserved
  }

  test('a token is debited, and the handler sees it; a failure or a bug gives back', async () => {
    const { token, challengeId } = await buyToken()
    const first = await call(token, '/sell/weather/paris?units=c')
    expect(debitOf(first)).toEqual([200, '2', '48'])
    expect(first.headers.get('x-seller')).toBe('own')
    expect(first.headers.get('cache-control')).toBe('no-store, private')
    expect(await first.json()).toEqual({ city: 'paris', query: { units: 'c' } })
    expect(seller.runs[0]!.payment).toMatchObject({
      ...{ amount: '0', routeId: 'weather', challengeId },
      credits: { planId: 'basic', charged: 2, remaining: 48 },
    })
    for (const [mood, status] of [
      ['answers-500', 500],
      ['throws', 500],
      ['answers-404', 404],
    ] as const) {
      seller.mood = mood
      const failed = await call(token, '/sell/moody')
      expect(debitOf(failed), mood).toEqual([status, '0', '48'])
      expect(failed.headers.get('x-svc-code')).toBe('DELIVERY_FAILED')
    }
    // This route says for itself that a 404 is a delivery.
    expect(debitOf(await call(token, '/sell/lenient'))).toEqual([404, '2', '46'])
    const balance = await answerOf(
      await fetch(`${origin}/x402/credits`, { headers: { authorization: token } }),
    )
    expect(balance.headers.get('cache-control')).toBe('no-store, private')
    expect(balance.body).toMatchObject({
      ...{ planId: 'basic', resourceId: 'default', granted: 50, spent: 4, reserved: 0, remaining: 46 },
      lots: [{ challengeId, granted: 50, spent: 4, remaining: 46 }],
    })
  })

  test('a download is debited once and comes whole', async () => {
    const { token } = await buyToken()
    const download = await call(token, '/sell/download')
    expect(debitOf(download)).toEqual([200, '2', '48'])
    expect((await download.arrayBuffer()).byteLength).toBe(DOWNLOAD_BYTES)
    expect(await left(token)).toBe(48)
  })

  test('a client that hangs up is debited all the same', async () => {
    const { token } = await buyToken()
    const leave = new AbortController()
    const lost = call(token, '/sell/slow', {}, { signal: leave.signal }).catch(() => 'left')
    await eventually(() => seller.runs.length === 1)
    leave.abort()
    expect(await lost).toBe('left')
    seller.gate.open()
    await eventually(async () => (await left(token)) === 48)
  })

  test('of many calls at once exactly as many are served as are paid for; the rest are sold the call', async () => {
    const { token } = await buyToken()
    const answers = await Promise.all(Array.from({ length: 100 }, () => call(token, '/sell/weather/rome')))
    const of = (status: number) => answers.filter((answer) => answer.status === status)
    expect([of(200).length, of(402).length, seller.runs.length]).toEqual([25, 75, 25])
    const refused = of(402)[0]!
    expect(refused.headers.get('payment-required')).not.toBeNull()
    expect(await refused.json()).toMatchObject({
      code: 'CREDITS_EXHAUSTED',
      topUp: { planId: 'basic', credits: 50 },
      extensions: { 'sign-in-with-x': { info: { uri: `${origin}/sell/weather/rome` } } },
    })
    expect(await left(token)).toBe(0)
  })

  test('an Idempotency-Key is debited once: the same call again is 409', async () => {
    const { token } = await buyToken()
    const key = { 'idempotency-key': 'one' }
    expect(debitOf(await call(token, '/sell/weather/oslo', key))).toEqual([200, '2', '48'])
    for (const path of ['/sell/weather/oslo', '/sell/weather/bergen']) {
      const again = await answerOf(await call(token, path, key))
      expect(again).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_CONFLICT' } })
    }
    expect([seller.runs.length, await left(token)]).toEqual([1, 48])
  })

  test('a wallet signs in, and names the resource that it bought for; the official client does both', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    await world.buy(buyer, { planId: 'basic', resourceId: 'team-a' })
    const url = `${origin}/sell/weather/rome`
    const proof = async () => proofHeader(offeredIn(await (await fetch(url)).json()), buyer)
    const signedIn = async (headers: Record<string, string> = {}) =>
      debitOf(await fetch(url, { headers: { [SIGN_IN]: await proof(), ...headers } }))
    expect((await signedIn())[0]).toBe(402)
    const headers = { 'x-svc-resource-id': 'team-a' }
    expect(await signedIn(headers)).toEqual([200, '2', '48'])
    const official = wrapFetchWithSIWx(fetch, buyer.account)
    expect(debitOf(await official(url, { headers }))).toEqual([200, '2', '46'])
    expect(seller.runs.length).toBe(2)
  })

  test('a token beside a payment is not debited; without credits it is none of our business', async () => {
    const { token } = await buyToken()
    const buyer = await world.chain.newBuyer({ micro: 2n * CENT })
    const calls = callsAt(world, origin)
    const { send } = await calls.prepare(buyer, '/sell/weather/lima')
    const paid = await send({ headers: { authorization: token } })
    expect(paid.status).toBe(200)
    expect(paid.headers.get('payment-response')).not.toBeNull()
    expect(paid.headers.get('x-svc-credits-charged')).toBeNull()
    expect(await world.flows(buyer)).toEqual({ paid: [CENT], refunded: [] })
    expect(await left(token)).toBe(50)
    const other = await call('Bearer of-somebody-else', '/sell/echo', {}, { method: 'POST' })
    expect(other.status).toBe(402)
  })

  test('a token that is not good is refused, nothing is debited and no handler runs', async () => {
    const { token, challengeId } = await buyToken()
    const jwt = token.slice('Bearer '.length)
    const [head, payload, signature] = jwt.split('.') as [string, string, string]
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>
    const signed = (changed: object, secret: string | Uint8Array = TOKEN_SECRET) =>
      new SignJWT({ ...claims, ...changed })
        .setProtectedHeader({ alg: 'HS256' })
        .sign(typeof secret === 'string' ? new TextEncoder().encode(secret) : secret)
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
    const bad: Record<string, string> = {
      'another gateway’s': await signed({ iss: 'https://other.example' }),
      'another secret’s': await signed({}, randomBytes(32)),
      expired: await signed({ exp: Math.floor(Date.now() / 1000) - 1 }),
      forged: `${head}.${Buffer.from(JSON.stringify({ ...claims, sub: '0x1' })).toString('base64url')}.${signature}`,
      'alg none': `${none}.${payload}.`,
      'no token': 'abc',
      'a plan without credits': (await buyToken('plain')).token.slice('Bearer '.length),
    }
    for (const [name, one] of Object.entries(bad)) {
      const refused = await answerOf(await call(`Bearer ${one}`, '/sell/weather/paris'))
      expect(refused, name).toMatchObject({ status: 401, body: { code: 'UNAUTHORIZED' } })
      expect(refused.headers.get('www-authenticate'), name).toContain('Bearer')
    }
    expect(await left(token)).toBe(50)
    const [row] = await store.get('credits', [challengeId])
    expect(await store.commit({ puts: [{ table: 'credits', row: { ...row!, ended: 'closed' } }] })).toEqual({
      kind: 'applied',
    })
    const closed = await answerOf(await call(token, '/sell/weather/paris'))
    expect(closed).toMatchObject({ status: 401, body: { message: expect.stringContaining('closed') } })
    expect(seller.runs).toEqual([])
    expect((await store.get('credits', [challengeId]))[0]).toMatchObject({ spent: 0, reserved: [] })
  })
})
