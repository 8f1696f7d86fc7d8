import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import { CALL_PRICE, ROUTES, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255, 0xc3, 0x28])
const rawRoutes = ROUTES.map((route) => (route.routeId === 'weather' ? { ...route, raw: true } : route))
/** Headers that are the gateway's to say, or that would speak for its whole origin or this one connection. */
const OURS = {
  'payment-required': 'e30=',
  'payment-response': 'e30=',
  'x-payment-response': 'e30=',
  'x-svc-code': 'SETTLEMENT_PENDING',
  'x-svc-refund': 'REFUNDED',
  'www-authenticate': 'Payment realm="x"',
  'set-cookie': 'svc_admin=evil; Path=/',
  'cache-control': 'public, max-age=3600',
  'clear-site-data': '"*"',
  'keep-alive': 'timeout=99',
}

let routes: RoutesWorld
beforeAll(async () => {
  routes = await startRoutesWorld({
    store: 'embedded',
    options: { routes: rawRoutes, maxResourceBytes: 5000, refundMinAgeSeconds: 1 },
  })
})
afterAll(() => routes.stop())
beforeEach(() => {
  routes.backend.seen.length = 0
  routes.backend.answer = sunny
})

const newBuyer = (micro = CALL_PRICE) => routes.world.chain.newBuyer({ micro })
const pay = (target: string, header: string) =>
  fetch(routes.world.baseUrl + target, { headers: { 'payment-signature': header }, redirect: 'manual' })

/** All that a buyer sees of an answer, but for what the wire adds. */
async function seen(answer: Response) {
  const {
    date: _date,
    connection: _connection,
    'x-svc-code': code,
    ...headers
  } = Object.fromEntries(answer.headers)
  return { status: answer.status, headers, code, body: Buffer.from(await answer.arrayBuffer()) }
}

test('a raw route answers as its backend does, byte for byte, and again on a replay', async () => {
  const { world, backend } = routes
  const buyer = await newBuyer()
  backend.answer = (_call, response) =>
    void response.writeHead(201, { ...OURS, 'content-type': 'image/png', etag: '"7"', 'x-own': '1' }).end(PNG)
  const { header, required } = await routes.signFor(buyer, '/weather/paris')
  const first = await seen(await pay('/weather/paris', header))
  expect([first.status, first.code]).toEqual([201, undefined])
  expect(first.body.equals(PNG)).toBe(true)
  expect(first.headers).toMatchObject({
    'content-type': 'image/png',
    'content-length': String(PNG.length),
    etag: '"7"',
    'x-own': '1',
    'cache-control': 'no-store, private',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': '*',
    'x-svc-challenge-id': required.challengeId,
  })
  for (const name of [
    'set-cookie',
    'www-authenticate',
    'payment-required',
    'clear-site-data',
    'x-payment-response',
  ])
    expect(first.headers).not.toHaveProperty(name)
  expect(decodeJsonObject(first.headers['payment-response']!)).toMatchObject({
    success: true,
    transaction: first.headers['x-svc-tx-hash'],
  })
  expect(first.headers).not.toHaveProperty('x-svc-refund')
  expect((await world.status(required.challengeId)).state).toBe('DELIVERED')

  const again = await seen(await pay('/weather/paris', header))
  expect(again).toEqual({ ...first, code: 'PROOF_ALREADY_REDEEMED' })
  expect(backend.seen).toHaveLength(1)
  // Where there is no HTTP answer to pass on, the same is wrapped.
  const envelope = { routeId: 'weather', resource: { method: 'GET', path: '/weather/paris' } }
  expect((await world.pay(header, envelope)).body).toMatchObject({
    type: 'ResourceResponse',
    resource: { status: 201, contentType: 'image/png', body: PNG.toString('base64'), encoding: 'base64' },
  })
  expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
})

test('what clients of an API expect of JSON, of an empty answer and of a page reaches them', async () => {
  const { backend } = routes
  const text = '{ "a" : 1.0 }\n'
  const answers: Array<[number, Record<string, string>, string]> = [
    [200, { 'content-type': 'application/json; charset=utf-8' }, text],
    [204, {}, ''],
    [206, { 'content-type': 'text/html', 'content-range': 'bytes 0-1/9' }, '<b'],
  ]
  for (const [status, headers, body] of answers) {
    backend.answer = (_call, response) => void response.writeHead(status, headers).end(body)
    const { header } = await routes.signFor(await newBuyer(), '/weather/oslo')
    for (const answer of [await pay('/weather/oslo', header), await pay('/weather/oslo', header)]) {
      const { headers: got, ...rest } = await seen(answer)
      expect(rest).toMatchObject({ status, body: Buffer.from(body) })
      expect(got).toMatchObject(headers)
    }
  }
})

test('a failing answer passes with the backend’s status and says that the payment goes back, and it does', async () => {
  const { world, backend } = routes
  const buyer = await newBuyer(2n * CALL_PRICE)
  const headers = { ...OURS, 'content-type': 'application/problem+json', 'retry-after': '7' }
  backend.answer = (_call, response) => void response.writeHead(503, headers).end('{"title":"later"}')
  const { header, required } = await routes.signFor(buyer, '/weather/rome')
  const failed = await seen(await pay('/weather/rome', header))
  expect([failed.status, failed.code, failed.body.toString()]).toEqual([
    503,
    'DELIVERY_FAILED',
    '{"title":"later"}',
  ])
  const statusUrl = `${world.baseUrl}/x402/challenges/${required.challengeId}`
  expect(failed.headers).toMatchObject({
    'retry-after': '7',
    'x-svc-refund': 'SCHEDULED',
    'x-svc-refund-when': expect.stringMatching(/^\d{4}-.*Z$/),
    'x-svc-status-url': statusUrl,
  })
  expect(decodeJsonObject(failed.headers['payment-response']!)).toMatchObject({ success: true })
  backend.answer = (_call, response) => void response.writeHead(302, { location: `${backend.url}/x` }).end()
  const moved = await seen(await pay('/weather/rome', header))
  expect([moved.status, moved.headers.location, moved.code]).toEqual([
    302,
    `${world.baseUrl}/x`,
    'DELIVERY_FAILED',
  ])
  await world.until(required.challengeId, 'REFUNDED')
  expect((await pay('/weather/rome', header)).status).toBe(410)
  expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [CALL_PRICE] })
})

test('attack 28: a backend’s own 402 is never passed on, and no client pays it', async () => {
  const { world, backend } = routes
  for (const status of [402, 407, 999]) {
    backend.answer = (_call, response) => void response.writeHead(status, OURS).end('pay me instead')
    const buyer = await newBuyer(3n * CALL_PRICE)
    const client = new x402Client()
    client.register('eip155:*', new ExactEvmScheme(buyer.account))
    const official = await wrapFetchWithPayment(fetch, client)(`${world.baseUrl}/weather/lima`)
    const own = await createBuyer({ account: buyer.account, maxAmount: '$0.01' }).fetch(
      `${world.baseUrl}/weather/lima`,
    )
    for (const answer of [official, own]) {
      const { headers, code, body, ...rest } = await seen(answer)
      expect([rest.status, code, body.toString()]).toEqual([502, 'DELIVERY_FAILED', 'pay me instead'])
      expect(headers).toMatchObject({ 'x-svc-backend-status': String(status), 'x-svc-refund': 'SCHEDULED' })
      expect(headers).not.toHaveProperty('payment-required')
    }
    expect((await world.flows(buyer)).paid).toEqual([CALL_PRICE, CALL_PRICE])
  }
})

test('where the backend gives no answer the error is ours, with its refund', async () => {
  const { world, backend } = routes
  const { header, required } = await routes.signFor(await newBuyer(), '/weather/bonn')
  backend.answer = (_call, response) => void response.destroy()
  const lost = await routes.call('/weather/bonn', {}, header)
  backend.answer = (_call, response) => void response.end('x'.repeat(5001))
  const large = await routes.call('/weather/bonn', {}, header)
  for (const { status, body, receipt } of [lost, large]) {
    expect([status, body]).toMatchObject([
      502,
      {
        type: 'Error',
        code: 'DELIVERY_FAILED',
        httpStatus: 502,
        retryable: true,
        txHash: receipt?.transaction,
        refund: { state: 'SCHEDULED', when: expect.any(String) },
        statusUrl: `${world.baseUrl}/x402/challenges/${required.challengeId}`,
      },
    ])
    expect(receipt?.success).toBe(true)
  }
  expect(large.body.message).toContain('exceeds 5000 bytes')
})

test('catalog, 402 and OpenAPI say that the answer is the backend’s own', async () => {
  const { world } = routes
  const get = async (path: string) => (await (await fetch(world.baseUrl + path)).json()) as never
  const catalog: { routes: object[] } = await get('/discover')
  expect(catalog.routes).toMatchObject([{ routeId: 'weather', raw: true }, { routeId: 'report' }, {}])
  expect(catalog.routes[1]).not.toHaveProperty('raw')
  const { paths }: { paths: Record<string, { get?: { responses: Record<string, object> } }> } =
    await get('/openapi.json')
  expect(paths['/weather/{city}']?.get?.responses).toMatchObject({
    200: { content: { '*/*': {} } },
    default: { content: { '*/*': {} } },
  })
  const { body } = await routes.call('/weather/paris')
  expect(JSON.stringify(body)).toContain("the backend's own")
})
