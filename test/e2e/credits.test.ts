import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ROUTES, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'
import { PRICE } from './world.ts'

const routes = ROUTES.map((route) => ('free' in route ? route : { ...route, credits: 1 }))
const plans = [{ planId: 'basic', unitAmount: '$1.00', credits: 50 }]

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld({ store: 'embedded', options: { routes, plans } })
})
afterAll(() => shop.stop())
beforeEach(() => {
  shop.backend.seen.length = 0
  shop.backend.answer = sunny
})

async function buyCredits(): Promise<string> {
  const buyer = await shop.world.chain.newBuyer({ micro: PRICE })
  const bought = await shop.world.buy(buyer)
  expect(bought.status).toBe(200)
  return `Bearer ${bought.body.accessToken}`
}

const call = (authorization: string, target = '/weather/paris', headers: Record<string, string> = {}) =>
  shop.call(target, { headers: { authorization, ...headers } })

test('a token spends its credits, and the backend is told what the call cost', async () => {
  const token = await buyCredits()
  const first = await call(token)
  expect(first).toMatchObject({
    status: 200,
    body: { resource: { status: 200 }, credits: { remaining: 49 } },
  })
  expect(first.headers.get('x-svc-credits-charged')).toBe('1')
  expect(first.headers.get('x-svc-credits-remaining')).toBe('49')
  expect(shop.backend.seen[0]!.headers).toMatchObject({ 'x-svc-credits': '1', 'x-svc-plan-id': 'basic' })
  expect(shop.backend.seen[0]!.headers.authorization).toBeUndefined()
})

test('of 100 calls at once on 50 credits exactly 50 are served', async () => {
  const token = await buyCredits()
  const answers = await Promise.all(Array.from({ length: 100 }, () => call(token)))
  const of = (status: number) => answers.filter((answer) => answer.status === status).length
  expect([of(200), of(402)]).toEqual([50, 50])
  expect(shop.backend.seen.length).toBe(50)
  const refused = answers.find(({ status }) => status === 402)!
  expect(refused.body).toMatchObject({ code: 'CREDITS_EXHAUSTED', topUp: { planId: 'basic', credits: 50 } })
  expect(refused.headers.get('payment-required')).not.toBeNull()
})

test.each<[string, RoutesWorld['backend']['answer']]>([
  ['fails', (_call, response) => void response.writeHead(500).end('broken')],
  ['hangs', () => {}],
  ['is cut before it answers', (_call, response) => void response.destroy()],
  [
    'is cut in the middle of its answer',
    (_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      response.write('{"half":', () => response.destroy())
    },
  ],
])('a backend that %s costs nothing', async (_name, answer) => {
  const token = await buyCredits()
  shop.backend.answer = answer
  const failed = await call(token)
  expect(failed.headers.get('x-svc-code')).toBe('DELIVERY_FAILED')
  expect(failed.headers.get('x-svc-credits-charged')).toBe('0')
  shop.backend.answer = sunny
  expect((await call(token)).headers.get('x-svc-credits-remaining')).toBe('49')
})

test('a call that fails costs nothing; the same Idempotency-Key is debited once', async () => {
  const token = await buyCredits()
  shop.backend.answer = (_call, response) => void response.writeHead(500).end('broken')
  expect((await call(token)).headers.get('x-svc-credits-remaining')).toBe('50')
  shop.backend.answer = sunny
  const key = { 'idempotency-key': 'one' }
  const answers = await Promise.all(Array.from({ length: 10 }, () => call(token, '/weather/rome', key)))
  expect(new Set(answers.map(({ body }) => JSON.stringify(body.resource))).size).toBe(1)
  expect(shop.backend.seen.length).toBe(2)
  expect((await call(token)).headers.get('x-svc-credits-remaining')).toBe('48')
  const other = await call(token, '/weather/oslo', key)
  expect(other).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_CONFLICT' } })
})
