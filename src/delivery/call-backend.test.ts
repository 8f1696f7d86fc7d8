import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { routeOrder } from '../../test/delivery/sample-orders.ts'
import type { RouteCall } from '../ports.ts'
import { createBackendPool } from './backend-pool.ts'
import { createHttpBackend } from './call-backend.ts'
import { callSignature } from './payment-headers.ts'
import { createSeal } from './seal.ts'
import { parseSecretKeys } from './secret-keys.ts'

const order = routeOrder
const call = (change: Partial<RouteCall> = {}): RouteCall => ({
  method: 'GET',
  path: '/weather/paris?units=c&q=a%20b',
  headers: {},
  body: null,
  ...change,
})

const closing: Array<() => Promise<unknown> | unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function listen(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closing.push(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function backendOf(
  listener: RequestListener | string,
  { path = '', secret = null as string | null, timeoutMs = 2000, maxBytes = 1000 } = {},
) {
  const baseUrl = typeof listener === 'string' ? listener : await listen(createServer(listener))
  const pool = createBackendPool({ baseUrl: baseUrl + path, timeoutMs })
  closing.unshift(() => pool.close())
  const seal = createSeal(parseSecretKeys('k'.repeat(32)).sealing)
  return createHttpBackend({
    pool,
    secret,
    timeoutMs,
    maxBytes,
    explorerTxUrl: () => 'https://scan/tx/',
    seal,
  })
}

describe('a paid call', () => {
  test('reaches the backend with its method, path, query, body and the payment, signed', async () => {
    let seen: { method?: string; url?: string; headers: IncomingHttpHeaders; body: string } | undefined
    const backend = await backendOf(
      async (request, response) => {
        let body = ''
        for await (const chunk of request) body += chunk
        const { method, url, headers } = request
        seen = { ...(method && { method }), ...(url && { url }), headers, body }
        response.writeHead(201, { 'content-type': 'application/json' }).end('{"sunny":true}')
      },
      { path: '/v1/', secret: 'shared' },
    )
    const headers = { 'content-type': 'text/plain', 'x-svc-payer': '0xevil', 'if-none-match': '"x"' }
    const called = await backend.call(order, call({ method: 'POST', headers, body: Buffer.from('hi') }))
    expect(called).toMatchObject({ ok: true })
    expect(called.response).toEqual({
      type: 'ResourceResponse',
      challengeId: 'http-1',
      requestId: 'r-1',
      routeId: 'weather',
      txHash: order.txHash,
      explorerUrl: `https://scan/tx/${order.txHash}`,
      resource: { status: 201, body: { sunny: true }, contentType: 'application/json' },
    })
    expect(seen).toMatchObject({ method: 'POST', url: '/v1/weather/paris?units=c&q=a%20b', body: 'hi' })
    const { 'x-svc-signature': signature, ...rest } = seen!.headers
    expect(rest).toMatchObject({
      'content-type': 'text/plain',
      'content-length': '2',
      'if-none-match': '"x"',
      'accept-encoding': 'identity',
      'x-svc-tx-hash': order.txHash,
      'x-svc-plan-id': 'weather',
      'x-svc-route-id': 'weather',
      'x-svc-challenge-id': 'http-1',
      'x-svc-request-id': 'r-1',
      'x-svc-amount': '10000',
      'x-svc-payer': order.payer,
      'x-svc-network': 'eip155:84532',
    })
    const t = Number(/^t=(\d+)/.exec(String(signature))![1])
    expect(Math.abs(Date.now() / 1000 - t)).toBeLessThan(5)
    const signed = { method: 'POST', path: seen!.url!, challengeId: 'http-1', txHash: order.txHash }
    expect(signature).toBe(callSignature('shared', signed, t * 1000))
  })

  test('without a secret is not signed, and a paid read is never conditional', async () => {
    const backend = await backendOf((request, response) => response.end(JSON.stringify(request.headers)))
    const { response } = await backend.call(order, call({ headers: { 'if-none-match': '"x"' } }))
    const seen = Buffer.from(String(response.resource.body), 'base64').toString()
    expect(seen).not.toContain('x-svc-signature')
    expect(seen).not.toContain('if-none-match')
  })

  test('is kept sealed, and opens for its own challenge only', async () => {
    const backend = await backendOf((_request, response) => response.end('x'))
    const called = await backend.call(order, call())
    if (!called.ok) throw new Error('expected a delivery')
    expect(called.sealed).not.toContain('eA==')
    expect(await backend.open(order, called.sealed)).toEqual({ response: called.response })
    expect(await backend.open({ ...order, challengeId: 'http-2' }, called.sealed)).toBe(undefined)
  })

  test('a compressed answer is decoded, although we asked for none', async () => {
    const backend = await backendOf((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      response.end(gzipSync('{"a":1}'))
    })
    expect((await backend.call(order, call())).response.resource.body).toEqual({ a: 1 })
  })
})

describe('no delivery is', () => {
  const failing = async (backend: Awaited<ReturnType<typeof backendOf>>, change?: Partial<RouteCall>) => {
    const called = await backend.call(order, call(change))
    if (called.ok) throw new Error('expected a failure')
    return {
      status: called.response.resource.status,
      body: called.response.resource.body,
      reason: called.reason,
    }
  }

  test.each([304, 400, 404, 500, 503])('a %i of the backend, which the buyer sees', async (status) => {
    const backend = await backendOf((_request, response) =>
      response.writeHead(status, { 'content-type': 'text/plain' }).end('why'),
    )
    const body = status === 304 ? null : 'why'
    expect(await failing(backend)).toEqual({ status, body, reason: `the backend answered ${status}` })
  })

  test('a redirect: it is not followed, and no other server learns of the payment', async () => {
    let stolen = 0
    const thief = await listen(createServer((_request, response) => response.end(String(++stolen))))
    const backend = await backendOf((_request, response) =>
      response.writeHead(307, { location: `${thief}/steal` }).end(),
    )
    expect(await failing(backend)).toMatchObject({ status: 307, reason: 'the backend answered 307' })
    expect(stolen).toBe(0)
  })

  test('an answer above the limit, whether its length is declared or not', async () => {
    for (const head of [{ 'content-length': '1001' }, {}]) {
      const backend = await backendOf((_request, response) =>
        response.writeHead(200, head).end('x'.repeat(1001)),
      )
      expect(await failing(backend)).toMatchObject({
        status: 502,
        reason: expect.stringContaining('1000 bytes'),
      })
    }
    const endless = await backendOf((_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(500)), 1)
      response.once('close', () => clearInterval(timer))
    })
    expect(await failing(endless)).toMatchObject({ status: 502 })
    const exact = await backendOf((_request, response) => response.end('x'.repeat(1000)))
    expect(await exact.call(order, call())).toMatchObject({ ok: true })
  })

  test('no answer in time, before the headers or in the middle of the body', async () => {
    const late = { status: 504, reason: 'the backend did not answer within 0.1 s' }
    expect(await failing(await backendOf(() => {}, { timeoutMs: 100 }))).toMatchObject(late)
    const slow = await backendOf((_request, response) => response.writeHead(200).write('x'), {
      timeoutMs: 100,
    })
    expect(await failing(slow)).toMatchObject(late)
  })

  test('a backend that is down, closes the connection, stops in the middle, or does not speak HTTP', async () => {
    const gone = await listen(createServer())
    await closing.pop()!()
    expect(await failing(await backendOf(gone))).toEqual({
      status: 502,
      body: { error: 'the backend cannot be reached' },
      reason: 'the backend cannot be reached',
    })
    expect(await failing(await backendOf((request) => request.socket.destroy()))).toMatchObject({
      status: 502,
    })
    const torn = await backendOf((request, response) => {
      response.writeHead(200, { 'content-length': '10' }).write('half')
      setTimeout(() => request.socket.destroy(), 20)
    })
    expect(await failing(torn)).toMatchObject({ status: 502 })
    const babel = createTcpServer((socket) => socket.end('SSH-2.0-x\r\n'))
    await once(babel.listen(0, '127.0.0.1'), 'listening')
    closing.push(() => babel.close())
    const url = `http://127.0.0.1:${(babel.address() as AddressInfo).port}`
    expect(await failing(await backendOf(url))).toMatchObject({ status: 502 })
  })

  test.each(['//evil.example/x', '/\\evil.example', '/a/../b', '/.evil.com/../..', 'evil', '/a b', '/a#b'])(
    'the path %s, which no rule lets through: it is not sent',
    async (path) => {
      let calls = 0
      const backend = await backendOf((_request, response) => response.end(String(++calls)))
      expect(await failing(backend, { path })).toMatchObject({ status: 502 })
      expect(calls).toBe(0)
    },
  )
})
