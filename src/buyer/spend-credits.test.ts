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
  const state = {
    ...{ left: 0, sold: 0, refused: new Set<string>(), lose: 0, debited: new Set<string>() },
    /** Of a new token. */
    expiresAt: undefined as string | undefined,
    /** What its backend does with a call whose credits are reserved. */
    backend: async (): Promise<'ok' | 'failed'> => 'ok',
    /** Says "exhausted" whatever is left. */
    lies: false,
  }
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
      const accessToken = `token-${++state.sold}`
      const { expiresAt } = state
      return Response.json({ type: 'AccessGrant', accessToken, txHash: '0xab', expiresAt })
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
    const exhausted = { topUp: { planId: 'calls' }, code: 'CREDITS_EXHAUSTED', message: 'too few are left' }
    if (state.left === 0 || state.lies) return pay('10000', exhausted, 'CREDITS_EXHAUSTED')
    if (!state.debited.has(key!)) state.left--
    state.debited.add(key!)
    const headers = { 'x-svc-credits-charged': '1', 'x-svc-credits-remaining': String(state.left) }
    return new Response('{}', { headers: { ...headers, 'content-length': '2' } })
  }
  const fakeFetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const response = answer(request, new URL(request.url).pathname)
    if (!response.headers.has('x-svc-credits-charged')) return response
    if ((await state.backend()) === 'failed') {
      state.left++
      return new Response('{}', { status: 502, headers: { 'x-svc-credits-charged': '0' } })
    }
    if (state.lose-- <= 0) return response
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

  test.each<[string, () => void, RegExp]>([
    [
      'says "exhausted"',
      () => (shop.state.lies = true),
      /the seller said CREDITS_EXHAUSTED: too few are left/,
    ],
    [
      'refuses the token',
      () => shop.state.refused.add('token-1'),
      /the seller refused its token \(HTTP 401\)/,
    ],
    [
      'grants a token that has expired',
      () => (shop.state.expiresAt = '2026-01-01T00:00:00Z'),
      /its token has expired, or is not for this call/,
    ],
  ])('a seller that %s sells one plan for a call, and not the call as well', async (_name, cheat, said) => {
    const one = buyer({ credits: 'buy' })
    await one.discover(base)
    cheat()
    await expect(one.fetch(weather)).rejects.toMatchObject({
      code: 'REFUSED',
      requestId: expect.any(String),
      message: expect.stringMatching(
        new RegExp(`the plan calls \\(\\$0\\.50\\) was bought .*${said.source}`),
      ),
    })
    expect(shop.state.sold).toBe(1)
    expect(shop.made(GET_WEATHER).some(({ isPaid }) => isPaid)).toBe(false)
  })

  test('calls that come together and are all told "exhausted" cost one plan', async () => {
    const one = buyer({ credits: 'buy' })
    await one.discover(base)
    shop.state.lies = true
    const ends = await Promise.allSettled([1, 2, 3, 4, 5].map(() => one.fetch(weather)))
    expect(ends.map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
    expect(shop.state.sold).toBe(1)
  })

  test('a plan that other calls have used up meanwhile is bought again, but not before they were debited', async () => {
    const one = buyer({ credits: 'buy' })
    await one.discover(base)
    let answer = (_: 'ok') => {}
    const answered = new Promise<'ok'>((resolve) => (answer = resolve))
    shop.state.backend = () => answered
    const calls = [1, 2, 3, 4].map(() => one.fetch(weather))
    await expect.poll(() => shop.made(GET_WEATHER).filter(({ token }) => token !== null)).toHaveLength(4)
    expect(shop.state).toMatchObject({ sold: 1, left: 0 })
    answer('ok')
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(shop.state).toMatchObject({ sold: 2, left: 2 })
  })

  test('a plan that another buyer with the same storage has used up is bought again', async () => {
    const storage = fileStorage(folder)
    const other = buyer({ storage: fileStorage(folder) })
    let others: Promise<unknown> | undefined
    const one = buyer({
      storage,
      credits: 'buy',
      async fetch(input, init) {
        const token = new Request(input, init).headers.get('authorization')
        if (token !== null) others ??= Promise.all([1, 2, 3].map(() => other.fetch(weather)))
        await others
        return shop.fetch(input, init)
      },
    })
    await one.discover(base)
    expect((await one.fetch(weather)).headers.get('x-svc-credits-remaining')).toBe('2')
    expect(shop.state.sold).toBe(2)
  })

  test('credits that a failed call gives back are used before another plan is bought', async () => {
    const one = buyer({ credits: 'buy' })
    await one.discover(base)
    let answer = (_: 'failed') => {}
    const answered = new Promise<'failed'>((resolve) => (answer = resolve))
    shop.state.backend = () => answered
    const calls = [1, 2, 3, 4].map(() => one.fetch(weather))
    await expect.poll(() => shop.made(GET_WEATHER).filter(({ token }) => token !== null)).toHaveLength(4)
    shop.state.backend = async () => 'ok'
    answer('failed')
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, 502, 502, 502])
    expect(shop.state).toMatchObject({ sold: 1, left: 2 })
  })

  test('credits of a catalog that are no whole number are none: no plan is bought for them', async () => {
    const odd = ' 5' as unknown as number
    const plans = catalog.plans.map((plan) => ({ ...plan, credits: odd }))
    const routes = catalog.routes.map((route) => ({ ...route, credits: odd }))
    const oddly: typeof fetch = async (input, init) => {
      const response = await shop.fetch(input, init)
      return String(input).endsWith('/discover') ? Response.json({ plans, routes }) : response
    }
    const one = buyer({ credits: 'buy', fetch: oddly })
    await one.discover(base)
    expect(await (await one.fetch(weather)).json()).toEqual({ paid: true })
    expect(shop.state.sold).toBe(0)
  })

  test('where nobody answers who would sell the plan, nothing was signed and the call is paid for', async () => {
    const fetch: typeof globalThis.fetch = (input, init) =>
      String(input).endsWith('/x402/access') ? Promise.reject(new TypeError('away')) : shop.fetch(input, init)
    const one = buyer({ credits: 'buy', fetch, maxWaitSeconds: 5 })
    await one.discover(base)
    expect(await (await one.fetch(weather)).json()).toEqual({ paid: true })
  })

  test('nothing is paid for a call whose plan others used up, if another plan is above the limit', async () => {
    const one = buyer({ credits: 'buy', maxTotal: '$0.60' })
    await one.discover(base)
    const ends = await Promise.allSettled([1, 2, 3, 4].map(() => one.fetch(weather)))
    const failed = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
    expect(failed).toMatchObject([
      { code: 'REFUSED', message: expect.stringMatching(/was bought .* Another was not bought: .*maxTotal/) },
    ])
    expect(shop.made(GET_WEATHER).some(({ isPaid }) => isPaid)).toBe(false)
  })

  test.each([
    [{ credits: 'always' as 'buy' }, 'credits is "always"; it can be "use", "buy" or "off"'],
    [{ credits: 'buy' as const, maxPlanAmount: '5' }, 'maxPlanAmount '],
    [{ maxPlanAmount: '$5.00' }, 'maxPlanAmount limits the plans that fetch buys'],
  ])('%j is refused', (options, message) => {
    expect(() => buyer(options)).toThrow(message)
  })
})
