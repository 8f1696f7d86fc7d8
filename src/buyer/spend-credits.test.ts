import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { encodeJson } from '../protocol/base64.ts'
import { findNetwork } from '../protocol/networks.ts'
import { type BuyerOptions, createBuyer, fileStorage, memoryStorage } from './index.ts'

const testnet = findNetwork('testnet')!
const { address, signTypedData } = privateKeyToAccount(generatePrivateKey())
const base = 'https://api.example.com/pay'
const catalog = {
  plans: [
    { planId: 'hourly', unitAmount: '$0.25' },
    { planId: 'calls', unitAmount: '$0.50', credits: 3 },
  ],
  routes: [
    { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', credits: 1 },
    { routeId: 'report', method: 'POST', path: '/report', unitAmount: '$0.01' },
  ],
}

/** A gateway whose tokens are `token-1`, `token-2`, …; each grants three credits to the one account. */
function gateway() {
  const seen: Array<{ what: string; key: string | null; token: string | null; isPaid: boolean }> = []
  const state = { left: 0, sold: 0, refused: new Set<string>(), lose: 0, debited: new Set<string>() }
  const required = (amount: string) => ({
    x402Version: 2,
    accepts: [
      {
        scheme: 'exact',
        network: testnet.id,
        asset: testnet.token.address,
        amount,
        payTo: `0x${'22'.repeat(20)}`,
      },
    ],
  })
  const pay = (amount: string, more: object = {}, code = 'PAYMENT_REQUIRED') =>
    Response.json(
      { ...required(amount), ...more },
      { status: 402, headers: { 'payment-required': encodeJson(required(amount)), 'x-svc-code': code } },
    )
  const answer = (request: Request, path: string): Response => {
    const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? null
    const key = request.headers.get('idempotency-key')
    const isPaid = request.headers.has('payment-signature')
    seen.push({ what: `${request.method} ${path}`, key, token, isPaid })
    if (path === '/pay/discover') return Response.json(catalog)
    if (path === '/pay/x402/access') {
      if (!isPaid) return pay('500000')
      state.left += 3
      return Response.json({ type: 'AccessGrant', accessToken: `token-${++state.sold}`, txHash: '0xab' })
    }
    const isGood = token?.startsWith('token-') && !state.refused.has(token)
    if (token !== null && !isGood)
      return Response.json({}, { status: 401, headers: { 'x-svc-code': 'UNAUTHORIZED' } })
    if (path === '/pay/x402/credits') {
      const balance = {
        planId: 'calls',
        resourceId: 'default',
        granted: 3,
        spent: 3 - state.left,
        reserved: 0,
      }
      return Response.json({ ...balance, remaining: state.left, expiresAt: 1_900_000_000_000, lots: [] })
    }
    if (isPaid || path === '/free') return Response.json({ paid: isPaid })
    if (token === null || path !== '/weather/oslo') return pay('10000')
    if (state.left === 0) return pay('10000', { topUp: { planId: 'calls' } }, 'CREDITS_EXHAUSTED')
    if (!state.debited.has(key!)) state.left--
    state.debited.add(key!)
    const headers = { 'x-svc-credits-charged': '1', 'x-svc-credits-remaining': String(state.left) }
    return new Response('{}', { headers: { ...headers, 'content-length': '2' } })
  }
  const fakeFetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const response = answer(request, new URL(request.url).pathname)
    if (!response.headers.has('x-svc-credits-charged') || state.lose-- <= 0) return response
    const broken = new ReadableStream({ start: (body) => body.error(new Error('the connection broke')) })
    return new Response(broken, response)
  }
  return { seen, state, fetch: fakeFetch, made: (what: string) => seen.filter((one) => one.what === what) }
}

let shop: ReturnType<typeof gateway>
let folder: string
beforeEach(() => {
  shop = gateway()
  folder = mkdtempSync(join(tmpdir(), 'paystile-spend-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function buyer(options: Partial<BuyerOptions> = {}) {
  const clock = {
    nowMs: 1_800_000_000_000,
    now: () => clock.nowMs,
    async sleep(ms: number) {
      clock.nowMs += ms
    },
  }
  const account = { address, signTypedData }
  return createBuyer({ account, maxAmount: '$1.00', fetch: shop.fetch, clock, ...options })
}
const weather = 'https://api.example.com/weather/oslo'
const GET_WEATHER = 'GET /weather/oslo'
const order = { planId: 'calls' }

describe('what it owns', () => {
  test('is sent to routes that take credits, beside the gateway too, with a key of its own per call', async () => {
    const one = buyer()
    await one.buy(base, order)
    await Promise.all([one.fetch(weather), one.fetch(weather)])
    await one.fetch('https://api.example.com/report', { method: 'POST', body: 'x' })
    await one.fetch('https://other.example.com/weather/oslo')
    expect(
      shop
        .made(GET_WEATHER)
        .slice(0, 2)
        .map(({ token }) => token),
    ).toEqual(['token-1', 'token-1'])
    expect(new Set(shop.made(GET_WEATHER).map(({ key }) => key)).size).toBeGreaterThan(1)
    expect(
      shop.seen.slice(-4).map(({ token }) => token),
      'the others',
    ).toEqual([null, null, null, null])
    expect(shop.made('GET /pay/discover')).toHaveLength(1)
  })

  test('is found again in its folder, and asked for its balance', async () => {
    await buyer({ storage: fileStorage(folder) }).buy(base, order)
    const again = buyer({ storage: fileStorage(folder) })
    expect((await again.fetch(weather)).headers.get('x-svc-credits-remaining')).toBe('2')
    expect(await again.credits(base)).toMatchObject([
      { planId: 'calls', remaining: 2, expiresAt: expect.any(Date) },
    ])
    expect(await buyer().credits(base), 'another storage').toEqual([])
  })

  test('is dropped when the gateway refuses it, and the call is paid for', async () => {
    const one = buyer()
    await one.buy(base, order)
    shop.state.refused.add('token-1')
    expect(await (await one.fetch(weather)).json()).toEqual({ paid: true })
    await one.fetch(weather)
    expect(shop.made(GET_WEATHER).filter(({ token }) => token === 'token-1')).toHaveLength(1)
  })

  test('is not touched where the caller authorizes itself, nor with credits: "off"', async () => {
    const storage = memoryStorage()
    const one = buyer({ storage })
    await one.buy(base, order)
    expect((await one.fetch(weather, { headers: { authorization: 'Bearer mine' } })).status).toBe(401)
    await buyer({ storage, credits: 'off' }).fetch(weather)
    expect(shop.made(GET_WEATHER).some(({ token }) => token === 'token-1')).toBe(false)
  })

  test('an answer that breaks off is asked for again under its key; a given key is used as it is', async () => {
    const one = buyer()
    await one.buy(base, order)
    shop.state.lose = 2
    expect(await (await one.fetch(weather)).text()).toBe('{}')
    const keys = shop.made(GET_WEATHER).map(({ key }) => key)
    expect([keys.length, new Set(keys).size, shop.state.left]).toEqual([3, 1, 2])
    await one.fetch(weather, { headers: { 'idempotency-key': 'mine' } })
    expect(shop.made(GET_WEATHER).at(-1)).toMatchObject({ key: 'mine', token: 'token-1' })
  })

  test('when time is up the next call of the same kind has the same key', async () => {
    const one = buyer({ maxWaitSeconds: 1 })
    await one.buy(base, order)
    shop.state.lose = 2
    const failed = one.fetch(weather)
    await expect(failed).rejects.toMatchObject({
      code: 'STILL_PENDING',
      message: expect.stringMatching(/debited once/),
    })
    await one.fetch(weather)
    expect([new Set(shop.made(GET_WEATHER).map(({ key }) => key)).size, shop.state.left]).toEqual([1, 2])
    await one.fetch(weather)
    expect(shop.state.left, 'the call after that is another').toBe(1)
  })
})

describe('credits: "buy"', () => {
  test('buys only for what asks for money and takes credits, and never sends an unpaid request twice', async () => {
    const one = buyer({ credits: 'buy' })
    await one.discover(base)
    await one.fetch('https://api.example.com/free', { method: 'POST' })
    expect(shop.made('POST /free')).toHaveLength(1)
    await one.fetch('https://api.example.com/report', { method: 'POST' })
    expect(shop.made('POST /report').map(({ isPaid }) => isPaid)).toEqual([false, true])
    expect(shop.state.sold).toBe(0)
    await Promise.all([1, 2, 3].map(() => one.fetch(weather)))
    expect(shop.state).toMatchObject({ sold: 1, left: 0 })
    await one.fetch(weather)
    expect(shop.state).toMatchObject({ sold: 2, left: 2 })
  })

  test('a seller that says "exhausted" for ever sells a call three plans at most', async () => {
    const one = buyer({ credits: 'buy' })
    await one.discover(base)
    Object.defineProperty(shop.state, 'left', { get: () => 0, set: () => {} })
    expect(await (await one.fetch(weather)).json()).toEqual({ paid: true })
    expect(shop.state.sold).toBe(3)
  })

  test.each([
    [{ credits: 'always' as 'buy' }, 'credits is "always"; it can be "use", "buy" or "off"'],
    [{ credits: 'buy' as const, maxPlanAmount: '5' }, 'maxPlanAmount '],
    [{ maxPlanAmount: '$5.00' }, 'maxPlanAmount limits the plans that fetch buys'],
  ])('%j is refused', (options, message) => {
    expect(() => buyer(options)).toThrow(message)
  })
})
