import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { beforeEach, expect, test } from 'vitest'
import { encodeJson } from '../protocol/base64.ts'
import { findNetwork } from '../protocol/networks.ts'
import { type BuyerOptions, createBuyer } from './index.ts'

const testnet = findNetwork('testnet')!
const account = privateKeyToAccount(generatePrivateKey())
const base = 'https://api.example.com'
const weather = `${base}/weather`
const required = {
  x402Version: 2,
  accepts: [
    {
      ...{ scheme: 'exact', network: testnet.id, asset: testnet.token.address, amount: '10000' },
      payTo: `0x${'22'.repeat(20)}`,
    },
  ],
}
const routes = [
  { routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01', credits: 1 },
  { routeId: 'report', method: 'GET', path: '/report', unitAmount: '$0.01', credits: 3 },
]
const CALLS = { planId: 'calls', unitAmount: '$0.01', credits: 2 }
const HOURLY = { planId: 'hourly', unitAmount: '$0.01' }

let plans: Array<{ planId: string; unitAmount: string; credits?: number }>
/** What is left to each token, which is the id of its plan. */
let left: Record<string, number>
/** The tokens of the calls, `paid` for a payment and null for neither. */
let calls: Array<string | null>
let sold: string[]
beforeEach(() => {
  plans = [CALLS, HOURLY]
  left = {}
  calls = []
  sold = []
})

const shop: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  const { pathname } = new URL(request.url)
  const isPaid = request.headers.has('payment-signature')
  const token = request.headers.get('authorization')?.replace('Bearer ', '')
  const pay = (code: string) =>
    Response.json(required, {
      status: 402,
      headers: { 'payment-required': encodeJson(required), 'x-svc-code': code },
    })
  if (pathname === '/discover') return Response.json({ plans, routes })
  if (pathname === '/x402/access') {
    const { planId } = (await request.json()) as { planId: string }
    if (!isPaid) return pay('PAYMENT_REQUIRED')
    const granted = plans.find((plan) => plan.planId === planId)?.credits
    if (granted !== undefined) left[planId] = granted
    sold.push(planId)
    return Response.json({ type: 'AccessGrant', accessToken: planId, txHash: '0xab' })
  }
  const remaining = left[token ?? '']
  if (pathname === '/x402/credits') {
    if (remaining === undefined) return Response.json({ message: 'no credits' }, { status: 404 })
    const balance = { planId: token, resourceId: 'default', granted: 2, spent: 2 - remaining, reserved: 0 }
    return Response.json({ ...balance, remaining, expiresAt: null })
  }
  calls.push(isPaid ? 'paid' : (token ?? null))
  if (isPaid) return new Response('sun')
  if (token === undefined) return pay('PAYMENT_REQUIRED')
  const cost = pathname === '/report' ? 3 : 1
  if (remaining === undefined || remaining < cost) return pay('CREDITS_EXHAUSTED')
  left[token] = remaining - 1
  const headers = { 'x-svc-credits-charged': '1', 'x-svc-credits-remaining': String(remaining - 1) }
  return new Response('sun', { headers })
}

const buyerWith = (options: Partial<BuyerOptions> = {}) =>
  createBuyer({ account, maxAmount: '$1.00', fetch: shop, ...options })

test.each([
  ['is no longer sold', [{ ...CALLS, planId: 'calls2' }]],
  ['is sold without credits', [{ planId: 'calls', unitAmount: '$0.01' }]],
])('credits of a plan that %s are spent, and then the calls are paid for', async (_name, now) => {
  const buyer = buyerWith()
  await buyer.buy(base, { planId: 'calls' })
  plans = now
  expect(await buyer.credits(base)).toMatchObject([{ planId: 'calls', remaining: 2 }])
  for (let call = 0; call < 4; call++) expect(await (await buyer.fetch(weather)).text()).toBe('sun')
  // Once exhausted they are asked for no more.
  expect(calls).toEqual(['calls', 'calls', 'calls', 'paid', null, 'paid'])
})

test('another plan is bought only after they are spent', async () => {
  const buyer = buyerWith({ credits: 'buy' })
  await buyer.buy(base, { planId: 'calls' })
  plans = [{ ...CALLS, planId: 'calls2' }]
  await buyer.fetch(weather)
  await buyer.fetch(weather)
  expect(sold).toEqual(['calls'])
  await buyer.fetch(weather)
  expect([sold, calls.at(-1)]).toEqual([['calls', 'calls2'], 'calls2'])
})

test('a plan that never had credits is tried once, and is no balance', async () => {
  const buyer = buyerWith()
  await buyer.buy(base, { planId: 'hourly' })
  expect(await buyer.credits(base)).toEqual([])
  await buyer.fetch(weather)
  await buyer.fetch(weather)
  expect(calls).toEqual(['hourly', 'paid', null, 'paid'])
})

test('too few of them for one call are enough for another', async () => {
  const buyer = buyerWith()
  await buyer.buy(base, { planId: 'calls' })
  plans = []
  for (const path of ['/report', '/report', '/weather']) await buyer.fetch(base + path)
  expect(calls).toEqual(['calls', 'paid', null, 'paid', 'calls'])
})
