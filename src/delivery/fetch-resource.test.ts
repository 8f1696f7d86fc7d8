import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { routeOrder } from '../../test/delivery/sample-orders.ts'
import type { FetchResource, RouteCall } from '../ports.ts'
import { createCallbackBackend, forwardToCallback } from './fetch-resource.ts'
import { createSeal } from './seal.ts'
import { parseSecretKeys } from './secret-keys.ts'

const order = routeOrder
const call: RouteCall = {
  method: 'POST',
  path: '/weather/paris?x=1',
  headers: {
    accept: 'x',
    'x-svc-payer': '0xevil',
    authorization: 'Payment as-good-as-money',
    'payment-authorization': 'Payment as-good-as-money',
    'sign-in-with-x': 'proof',
  },
  body: Buffer.from('hi'),
}

function partsOf(fetchResource: unknown, timeoutMs = 1000) {
  const alerts: string[] = []
  return {
    fetchResource: fetchResource as FetchResource,
    timeoutMs,
    maxBytes: 100,
    explorerTxUrl: () => 'https://scan/tx/',
    seal: createSeal(parseSecretKeys('k'.repeat(32)).sealing),
    alerts: { raise: (_kind: string, message: string) => void alerts.push(message) },
    told: alerts,
  }
}
test('the answer of a raw route is stored unchanged, and answers stored before the route became raw stay wrapped', async () => {
  const headers = { 'content-type': 'application/json', 'x-own': '1', 'x-svc-code': 'x', 'set-cookie': 'a=1' }
  const parts = partsOf(() => new Response('{ "a": 1 }', { status: 201, headers }))
  const rawRoutes = new Set([order.itemId])
  const called = await createCallbackBackend({ ...parts, rawRoutes }).call(order, call)
  const plain = await createCallbackBackend(parts).call(order, call)
  if (!called.ok || !plain.ok) throw new Error('expected a delivery')
  const { open } = createCallbackBackend({ ...parts, rawRoutes })
  for (const { raw, response } of [called, (await open(order, called.sealed))!]) {
    expect(raw).toEqual({
      status: 201,
      headers: [
        ['content-type', 'application/json'],
        ['x-own', '1'],
      ],
      body: Buffer.from('{ "a": 1 }'),
    })
    expect(response).toEqual(plain.response)
  }
  expect(await open(order, plain.sealed)).toEqual({ response: plain.response })
  const failing = createCallbackBackend({ ...partsOf(() => ({ status: 404, body: 'no' })), rawRoutes })
  expect(await failing.call(order, call)).toMatchObject({
    ok: false,
    raw: { status: 404, body: Buffer.from('no') },
  })
})

const answerTo = async (fetchResource: unknown) => {
  const called = await createCallbackBackend(partsOf(fetchResource)).call(order, call)
  return { ok: called.ok, ...called.response.resource }
}

test('the function gets the call and the payment', async () => {
  let seen: unknown
  await answerTo((given: unknown) => {
    seen = given
    return new Response()
  })
  expect(seen).toEqual({
    routeId: 'weather',
    method: 'POST',
    path: '/weather/paris?x=1',
    headers: { accept: 'x' },
    body: Buffer.from('hi'),
    payment: {
      txHash: order.txHash,
      explorerUrl: `https://scan/tx/${order.txHash}`,
      payer: order.payer,
      amount: '10000',
      network: 'eip155:84532',
      routeId: 'weather',
      challengeId: 'http-1',
      requestId: 'r-1',
    },
  })
})

test('of a call that is debited the payment names the plan and the debit', async () => {
  let seen: unknown
  const parts = partsOf(({ payment }: { payment: unknown }) => {
    seen = payment
    return new Response()
  })
  const prepaid = { planId: 'basic', credits: 2, remaining: 3, sealedFor: null }
  await createCallbackBackend(parts).call({ ...order, amount: '0', prepaid }, call)
  expect(seen).toMatchObject({
    amount: '0',
    planId: 'basic',
    credits: { planId: 'basic', charged: 2, remaining: 3 },
  })
})

test.each<[string, unknown, object]>([
  ['a Response', Response.json({ a: 1 }, { status: 201 }), { status: 201, body: { a: 1 } }],
  [
    'an object',
    { status: 200, body: { a: 1 } },
    { status: 200, body: { a: 1 }, contentType: 'application/json' },
  ],
  [
    'a text',
    { status: 200, body: 'hi' },
    { status: 200, body: 'hi', contentType: 'text/plain; charset=utf-8' },
  ],
  ['JSON as text', { status: 200, body: '[1]', contentType: 'application/json' }, { status: 200, body: [1] }],
  ['bytes', { status: 200, body: new Uint8Array([255]) }, { status: 200, body: '/w==', encoding: 'base64' }],
  ['another library’s Response', foreign(), { status: 201, body: 'hi' }],
  ['nothing', { status: 204 }, { status: 204, body: null }],
  ['an empty text with 204', { status: 204, body: '' }, { status: 204, body: null }],
])('%s is an answer', async (_name, answer, expected) => {
  expect(await answerTo(async () => answer)).toMatchObject({ ok: true, ...expected })
})

test.each<[string, unknown, number]>([
  ['its own 404', () => ({ status: 404, body: 'no' }), 404],
  ['nothing at all', () => undefined, 502],
  ['no status', () => ({ body: 'x' }), 502],
  ['a status that is none', () => ({ status: 42 }), 502],
  ['a body that cannot be JSON', () => ({ status: 200, body: { n: 1n } }), 502],
  ['a body over the cap', () => ({ status: 200, body: 'x'.repeat(101) }), 502],
  ['a body that was read before', () => used(), 502],
])('%s is no delivery', async (_name, fetchResource, status) => {
  expect(await answerTo(fetchResource)).toMatchObject({ ok: false, status })
})

function foreign() {
  const { status, headers, body } = new Response('hi', { status: 201 })
  return { status, headers, body, arrayBuffer() {} }
}

async function used(): Promise<Response> {
  const response = new Response('x')
  await response.text()
  return response
}

test('its errors are shown to the operator, not to the buyer', async () => {
  const parts = partsOf(() => {
    throw new Error('no licence at 10.0.0.7')
  })
  const called = await createCallbackBackend(parts).call(order, call)
  expect(called).toMatchObject({ ok: false, reason: 'fetchResource failed' })
  expect(JSON.stringify(called)).not.toContain('10.0.0.7')
  expect(parts.told).toEqual(['challenge http-1: fetchResource threw Error: no licence at 10.0.0.7'])
})

test('a function that hangs, or whose body does, is 504', async () => {
  for (const hanging of [() => new Promise(() => {}), () => new Response(new ReadableStream())]) {
    const called = await createCallbackBackend(partsOf(hanging, 30)).call(order, call)
    expect(called.response.resource.status).toBe(504)
  }
})

test('a paid GET is never conditional: an answer 304 would be no delivery', async () => {
  const conditions = { 'if-none-match': '"1"', 'if-modified-since': 'Tue, 18 Nov 2026 00:00:00 GMT' }
  const seen: unknown[] = []
  const parts = partsOf(({ headers }: { headers: unknown }) => {
    seen.push(headers)
    return new Response('x')
  })
  const conditional = { ...call, headers: { accept: 'x', ...conditions } }
  const { call: callBackend } = createCallbackBackend(parts)
  await callBackend(order, { ...conditional, method: 'GET' })
  await callBackend(order, conditional)
  await forwardToCallback(parts, 'free', { ...conditional, method: 'GET' })
  const all = { accept: 'x', ...conditions }
  expect(seen).toEqual([{ accept: 'x' }, all, all])
})

test('a free answer that the function fetched, and so decoded, no longer has the headers of its encoding', async () => {
  const plain = 'plain '.repeat(100)
  const upstream = createServer((_request, response) => {
    const bytes = gzipSync(plain)
    response.writeHead(200, {
      'content-type': 'text/plain',
      'content-encoding': 'gzip',
      'content-length': bytes.length,
      connection: 'x-hop',
      'x-hop': '1',
      'set-cookie': ['a=1', 'b=2'],
    })
    response.end(bytes)
  }).listen(0)
  const { port } = upstream.address() as AddressInfo
  const parts = partsOf(() => fetch(`http://127.0.0.1:${port}`))
  const answer = await forwardToCallback(parts, 'free', call).finally(() => upstream.close())
  if (!(answer instanceof Response)) throw new Error('expected a response')
  const names = ['content-type', 'content-encoding', 'content-length', 'connection', 'x-hop']
  expect(names.filter((name) => answer.headers.has(name))).toEqual(['content-type'])
  expect([answer.headers.getSetCookie(), await answer.text()]).toEqual([['a=1', 'b=2'], plain])
})

test('a call of a free route gets the function’s answer without a payment', async () => {
  const parts = partsOf(({ payment }: { payment: unknown }) =>
    Response.json({ payment }, { status: 203, headers: { 'x-own': '1' } }),
  )
  const answer = await forwardToCallback(parts, 'free', call)
  if (!(answer instanceof Response)) throw new Error('expected a response')
  expect([answer.status, answer.headers.get('x-own'), await answer.json()]).toEqual([
    203,
    '1',
    { payment: null },
  ])
  const broken = partsOf(() => Promise.reject(new Error('secret')))
  expect(await forwardToCallback(broken, 'free', call)).toEqual({
    status: 502,
    reason: 'fetchResource failed',
  })
})
