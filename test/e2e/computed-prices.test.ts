import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { Route } from '../../src/protocol/catalog.ts'
import type { PricedCall } from '../../src/protocol/computed-price.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { openRaw, payloadFor } from './mcp-clients.ts'
import { mppBuyer } from './mpp-buyer.ts'
import { type RoutesWorld, startBackend, startRoutesWorld, sunny, type TestBackend } from './routes-world.ts'
import { PRICE } from './world.ts'

let prices: TestBackend
let shop: RoutesWorld
/** What the seller's function says next, and what it was asked. */
let say: (call: PricedCall) => string | Promise<string>
const asked: PricedCall[] = []
beforeAll(async () => {
  prices = await startBackend()
  const routes: Route[] = [
    {
      routeId: 'weather',
      method: 'GET',
      path: '/weather/:city',
      maxAmount: '$1.00',
      priceFrom: `${prices.url}/price`,
    },
    {
      ...{ routeId: 'report', method: 'POST', path: '/report', maxAmount: '$1.00' },
      unitAmount: (call) => {
        asked.push(call)
        return say(call)
      },
    },
  ]
  shop = await startRoutesWorld({ options: { routes, mcp: { routes: true } } })
})
afterAll(async () => {
  await shop.stop()
  await prices.stop()
})
beforeEach(() => {
  asked.length = 0
  prices.seen.length = 0
  shop.world.alerts.length = 0
  quote('$0.037')
  say = () => '$0.02'
})

function quote(amount: unknown, status = 200): void {
  prices.answer = (_call, response) => void response.writeHead(status).end(JSON.stringify({ amount }))
}

const newBuyer = () => shop.world.chain.newBuyer({ micro: PRICE })
const paid = async (buyer: Awaited<ReturnType<typeof newBuyer>>) => (await shop.world.flows(buyer)).paid

test('the official client pays exactly what the seller asked for this call', async () => {
  const buyer = await newBuyer()
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(buyer.account))
  const answer = await wrapFetchWithPayment(
    fetch,
    client,
  )(`${shop.world.baseUrl}/weather/oslo?days=3&days=4&x=1`)
  expect(answer.status).toBe(200)
  expect(await paid(buyer)).toEqual([37_000n])
  expect(prices.seen.map(({ method, body }) => [method, JSON.parse(body.toString())])).toEqual([
    [
      'POST',
      {
        routeId: 'weather',
        method: 'GET',
        path: '/weather/oslo',
        params: { city: 'oslo' },
        query: { days: ['3', '4'], x: '1' },
        bodyHash: null,
      },
    ],
  ])
})

test('the price of the 402 counts, whatever the seller asks or answers later', async () => {
  const buyer = await newBuyer()
  const { header, required } = await shop.signFor(buyer, '/weather/oslo')
  expect(required.accepts[0]!.amount).toBe('37000')
  quote('no price', 500)
  expect((await shop.call('/weather/oslo', {}, header)).status).toBe(200)
  expect((await shop.call('/weather/oslo', {}, header)).status).toBe(200)
  expect(await paid(buyer)).toEqual([37_000n])
  expect(prices.seen.length).toBe(1)
})

test('a buyer that edits the price of its offer is refused, and nothing is charged', async () => {
  const buyer = await newBuyer()
  const { accepts } = await shop.termsOf('/weather/oslo')
  const cheap = { ...accepts[0]!, amount: '1' }
  const refused = await shop.call('/weather/oslo', {}, await shop.world.sign(buyer, cheap))
  expect(refused).toMatchObject({ status: 404, body: { code: 'CHALLENGE_NOT_FOUND' } })
  const { challengeId: _id, requestId: _request, ...extra } = cheap.extra
  const unnamed = await shop.world.sign(buyer, { ...cheap, extra } as never)
  expect((await shop.call('/weather/oslo', {}, unnamed)).status).toBe(400)
  expect(await paid(buyer)).toEqual([])
})

test('a named request keeps its first price', async () => {
  const buyer = await newBuyer()
  const named = { headers: { 'idempotency-key': 'one-price' } }
  await shop.termsOf('/weather/rome', named)
  quote('$0.99')
  const { header, required } = await shop.signFor(buyer, '/weather/rome', named)
  expect(required.accepts[0]!.amount).toBe('37000')
  expect((await shop.call('/weather/rome', named, header)).status).toBe(200)
  expect(await paid(buyer)).toEqual([37_000n])
})

test.each<[string, TestBackend['answer']]>([
  ['answers 500', (_call, response) => void response.writeHead(500).end()],
  ['redirects', (_call, response) => void response.writeHead(302, { location: '/else' }).end()],
  ['answers no JSON', (_call, response) => void response.writeHead(200).end('37 cents')],
  ['answers no amount', (_call, response) => void response.writeHead(200).end('{"price":"$1"}')],
  ['answers null', (_call, response) => void response.writeHead(200).end('null')],
  ['answers a number', (_call, response) => void response.writeHead(200).end('{"amount":0.01}')],
  ['says 0', (_call, response) => void response.writeHead(200).end('{"amount":"$0.00"}')],
  ['says less than 0', (_call, response) => void response.writeHead(200).end('{"amount":"$-1"}')],
  ['says nonsense', (_call, response) => void response.writeHead(200).end('{"amount":"a lot"}')],
  ['answers too much', (_call, response) => void response.writeHead(200).end('x'.repeat(17_000))],
  ['hangs up', (_call, response) => void response.destroy()],
])('a price server that %s sells nothing: 503', async (_name, answer) => {
  prices.answer = answer
  const before = shop.backend.seen.length
  const refused = await shop.call('/weather/oslo')
  expect(refused).toMatchObject({ status: 503, body: { code: 'PRICE_UNAVAILABLE', retryable: true } })
  expect(refused.headers.get('retry-after')).toBe('5')
  expect(refused.body.message).toBe('The price of route weather cannot be had now; nothing was charged.')
  expect(shop.backend.seen.length).toBe(before)
})

test('a price server that does not answer within 5 seconds: 503', async () => {
  prices.answer = () => undefined
  expect(await shop.call('/weather/oslo')).toMatchObject({ status: 503, body: { code: 'PRICE_UNAVAILABLE' } })
})

test('a function that throws or hangs: 503; above maxAmount: 502 and an alert', async () => {
  const post = { method: 'POST', body: '{"pages":1000}' }
  say = () => {
    throw new Error('no rates')
  }
  expect(await shop.call('/report', post)).toMatchObject({ status: 503, body: { code: 'PRICE_UNAVAILABLE' } })
  expect(shop.world.alerts).toEqual([{ kind: 'price-refused', message: expect.stringContaining('no rates') }])
  say = () => new Promise(() => undefined)
  expect((await shop.call('/report', post)).status).toBe(503)
  quote('$1.000001')
  shop.world.alerts.length = 0
  expect(await shop.call('/weather/oslo')).toMatchObject({
    status: 502,
    body: { code: 'PRICE_TOO_HIGH', retryable: false, message: expect.stringContaining('most of $1.00') },
  })
  expect(shop.world.alerts).toEqual([
    {
      kind: 'price-refused',
      message: expect.stringContaining('$1.000001 of a call is above its maxAmount $1.00'),
    },
  ])
  quote('$1.00')
  expect((await shop.termsOf('/weather/oslo')).accepts[0]!.amount).toBe('1000000')
})

test('a function sees the body, on /x402/access, by MCP and by MPP; the paid call is not priced again', async () => {
  const { world } = shop
  shop.backend.answer = sunny
  say = ({ body }) => (body ? `$0.0${JSON.parse(Buffer.from(body).toString()).pages}` : '$0.50')
  const resource = { method: 'POST', path: '/report', body: { pages: 3 } }
  const body = { routeId: 'report', resource, requestId: 'by-access' }
  const byAccess = await newBuyer()
  const terms = await world.access(body)
  const required = decodeJsonObject(terms.headers.get('payment-required')!) as unknown as PaymentRequired
  say = () => '$0.99'
  expect((await world.pay(await world.sign(byAccess, required.accepts[0]!), body)).status).toBe(200)
  expect(await paid(byAccess)).toEqual([30_000n])

  say = () => '$0.04'
  const byMpp = await newBuyer()
  const answered = await mppBuyer(byMpp.account).fetch(`${world.baseUrl}/report`, {
    method: 'POST',
    body: 'x',
  })
  expect(answered.status).toBe(200)
  expect(await paid(byMpp)).toEqual([40_000n])

  say = () => '$0.05'
  const byMcp = await newBuyer()
  const client = await openRaw(world.baseUrl)
  const tool = (await client.tools()).find(({ name }) => name === 'report')!
  expect(tool.description).toContain('dynamic, at most $1.00 in USDC per call')
  const unpaid = await client.call('report', { body: { pages: 1 } })
  expect(unpaid.structuredContent).toMatchObject({ accepts: [{ amount: '50000' }] })
  const payment = await payloadFor(byMcp, unpaid.structuredContent)
  expect(
    (await client.call('report', { body: { pages: 1 } }, { 'x402/payment': payment })).isError,
  ).toBeFalsy()
  expect(await paid(byMcp)).toEqual([50_000n])
  expect(asked.length).toBe(3)
})

test('routes of the seller’s own server are priced by the same function', async () => {
  const { world } = shop
  const buyer = await newBuyer()
  const ask = (header?: string) =>
    world.gateway.chargeRoute(
      new Request(`${world.baseUrl}/weather/paris?u=c`, {
        headers: header === undefined ? {} : { 'payment-signature': header },
      }),
      'weather',
    )
  const unpaid = await ask()
  if (unpaid.kind !== 'respond') throw new Error('expected a 402')
  const required = (await unpaid.response.json()) as PaymentRequired
  quote('$0.5')
  const charged = await ask(await world.sign(buyer, required.accepts[0]!))
  if (charged.kind !== 'paid') throw new Error('expected a payment')
  await charged.finish(200)
  expect(await paid(buyer)).toEqual([37_000n])
})

test('the documents say that the price is dynamic, and its most', async () => {
  const text = async (path: string) => (await fetch(shop.world.baseUrl + path)).text()
  expect(JSON.parse(await text('/discover')).routes[0]).toEqual({
    ...{ routeId: 'weather', method: 'GET', path: '/weather/:city', maxAmount: '$1.00' },
  })
  expect(await text('/llms.txt')).toContain('dynamic, at most $1.00, `GET /weather/:city`')
  expect(await text('/skills.md')).toContain('| dynamic, at most $1.00 |')
  const operation = JSON.parse(await text('/openapi.json')).paths['/weather/{city}'].get
  expect(operation.summary).toBe('GET /weather/:city for dynamic, at most $1.00 a call')
  expect(operation['x-payment-info'].price).toMatchObject({ mode: 'dynamic', max: '1.00' })
})
