import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GatewayOptions } from '../../src/config/options.ts'
import { payPerRequest, paystile, requireAccess } from '../../src/frameworks/express.ts'
import { bridgeToNode } from '../../src/frameworks/node-bridge.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import { bent, mppBuyer, post } from './mpp-buyer.ts'
import { ROUTES } from './routes-world.ts'

const PROBLEMS = 'https://paymentauth.org/problems/'
const BROKEN = 'Payment e30'
const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)

/** No chain can be reached, so that nothing is ever decided, let alone sold. */
const options = (baseUrl: string, more: Partial<GatewayOptions> = {}): GatewayOptions => ({
  walletAddress: '0x8ba1f109551bD432803012645Ac136ddd64DBA72',
  network: 'testnet',
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  tokenSecret: 'a shared secret of more than thirty-two bytes',
  baseUrl,
  rpcUrl: 'http://127.0.0.1:9',
  store: 'memory',
  maxBodyBytes: 2000,
  onAlert: () => {},
  ...more,
})

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Ask = [path: string, init?: RequestInit]

/** What is said to this request with an MPP credential, which must be a problem, and without, which must not. */
async function twice(origin: string, [path, init = {}]: Ask, credential = BROKEN) {
  const ask = (headers: Record<string, string>) =>
    fetch(origin + path, { ...init, headers: { ...(init.headers as Record<string, string>), ...headers } })
  const plain = await ask({})
  const paying = await ask({ authorization: credential })
  const text = await plain.text()
  const problem = (await paying.json()) as Record<string, unknown>
  expect(plain.headers.get('content-type')).toMatch(/^application\/json/)
  expect(paying.headers.get('content-type')).toBe('application/problem+json')
  expect(paying.headers.get('payment-receipt')).toBeNull()
  expect(problem).toMatchObject({
    status: paying.status,
    title: expect.any(String),
    detail: expect.any(String),
  })
  return { plain: { status: plain.status, body: JSON.parse(text) }, problem }
}

describe('the standalone gateway', () => {
  let gateway: Gateway
  let limited: Gateway
  let server: Server
  let busy: Server
  let origin: string
  let full: string
  beforeAll(async () => {
    server = createServer((incoming, outgoing) => bridgeToNode(gateway.fetch)(incoming, outgoing))
    busy = createServer((incoming, outgoing) => bridgeToNode(limited.fetch)(incoming, outgoing))
    origin = await listening(server)
    full = await listening(busy)
    const routes = { routes: ROUTES, proxyTo: { baseUrl: 'http://127.0.0.1:9', timeoutSeconds: 1 } }
    gateway = await createGateway(options(origin, { ...routes, rateLimitPerMinute: 0 }))
    limited = await createGateway(options(full, { ...routes, rateLimitPerMinute: 1 }))
  })
  afterAll(async () => {
    for (const one of [server, busy]) one.close().closeAllConnections()
    await Promise.all([gateway.close(), limited.close()])
  })

  test.each<[string, Ask, number, string]>([
    ['an unknown path', ['/absent'], 404, 'INVALID_REQUEST'],
    ['another method', ['/x402/access', { method: 'DELETE' }], 405, 'INVALID_REQUEST'],
    ['a path that no parser writes', ['/weather/%2e%2e%2f?\\'], 400, 'INVALID_REQUEST'],
    ['an unknown challenge', ['/x402/challenges/http-1'], 404, 'CHALLENGE_NOT_FOUND'],
    ['a free route of a dead backend', ['/cities'], 502, 'INTERNAL_ERROR'],
    ['the resource of plans without its token', ['/resource/default'], 401, 'UNAUTHORIZED'],
  ])('%s', async (_name, ask, status, code) => {
    const { plain, problem } = await twice(origin, ask)
    expect(plain).toMatchObject({ status, body: { type: 'Error', code, httpStatus: status } })
    const type = code === 'CHALLENGE_NOT_FOUND' ? `${PROBLEMS}invalid-challenge` : 'about:blank'
    expect(problem).toMatchObject({ status, code, type })
  })

  test('a body that is no purchase beside a good credential is not the credential’s fault', async () => {
    const credential = await mppBuyer(account).credential(`${origin}/x402/access`, post({ planId: 'basic' }))
    for (const [body, status] of [
      ['{', 400],
      ['{"jsonrpc":"2.0","method":"x"}', 400],
      [JSON.stringify({ planId: 'x'.repeat(3000) }), 413],
      ['{"planId":"pro"}', 400],
    ] as const) {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
      const response = await fetch(`${origin}/x402/access`, {
        ...init,
        headers: { ...init.headers, authorization: credential },
      })
      expect(response.headers.get('content-type'), body).toBe('application/problem+json')
      expect(await response.json()).toMatchObject({ status, type: 'about:blank' })
    }
  })

  test.each(['/x402/access', '/weather/paris', '/report'])('credentials to %s', async (path) => {
    const init: RequestInit = path === '/weather/paris' ? {} : post({ planId: 'basic' })
    const good = await mppBuyer(account).credential(origin + path, init)
    const send = async (headers: Record<string, string>) => {
      const response = await fetch(origin + path, {
        ...init,
        headers: { ...(init.headers as Record<string, string>), ...headers },
      })
      expect(response.headers.get('content-type')).toBe('application/problem+json')
      expect(response.headers.get('www-authenticate')).toBeNull()
      const problem = (await response.json()) as { type: string; code: string; detail: string }
      expect(problem.detail).not.toMatch(/0x[0-9a-f]{20}/i)
      return [response.status, problem.type.replace(PROBLEMS, ''), problem.code]
    }
    const authorization = (value: string) => send({ authorization: value })
    const malformed = [400, 'malformed-credential', 'INVALID_REQUEST']
    expect(await authorization('Payment')).toEqual(malformed)
    expect(await authorization('payment e30')).toEqual(malformed)
    expect(await authorization('Payment !!!')).toEqual(malformed)
    expect(await authorization(`${good}, ${good}`)).toEqual(malformed)
    expect(await authorization(`Bearer of-the-seller, ${good}`)).toEqual(malformed)
    expect(await send({ 'payment-authorization': 'Bearer x' })).toEqual(malformed)
    expect(await send({ authorization: good, 'payment-authorization': good })).toEqual(malformed)
    expect(await send({ authorization: good, 'payment-signature': 'e30=' })).toEqual(malformed)
    const tempo = bent(good, { challenge: { method: 'tempo' }, payload: { type: 'transaction' } })
    expect(await authorization(tempo)).toEqual([400, 'method-unsupported', 'METHOD_UNSUPPORTED'])
    const elsewhere = bent(good, { challenge: { realm: 'https://elsewhere.example' } })
    expect(await authorization(elsewhere)).toEqual([404, 'invalid-challenge', 'CHALLENGE_NOT_FOUND'])
    const forged = bent(good, { payload: { nonce: `0x${'11'.repeat(32)}` } })
    expect(await authorization(forged)).toEqual([400, 'verification-failed', 'INVALID_PROOF'])
    // The chain cannot be asked: nothing is known, and so it is no 402.
    expect(await authorization(good)).toEqual([503, 'about:blank', 'SETTLEMENT_PENDING'])
  })

  test('too many requests', async () => {
    const peer = { 'x-own': '1' }
    await fetch(`${full}/x402/challenges/http-1`, { headers: peer })
    for (const path of ['/x402/challenges/http-1', '/cities', '/weather/paris', '/resource/default']) {
      const { plain, problem } = await twice(full, [path])
      expect(plain).toMatchObject({ status: 429, body: { type: 'Error', code: 'RATE_LIMITED' } })
      expect(problem).toMatchObject({ status: 429, type: 'about:blank', title: 'Too Many Requests' })
    }
  })

  test('what is not understood without a credential stays as SPEC has it', async () => {
    const nothing = await fetch(`${origin}/x402/access`, post({}))
    expect(nothing.status).toBe(400)
    expect(await nothing.json()).toEqual({ error: expect.stringContaining('planId') })
  })
})

describe('a fault of the server itself', () => {
  test('is told to each in its own words', async () => {
    const server = createServer((incoming, outgoing) =>
      bridgeToNode(() => {
        throw new Error('a bug')
      })(incoming, outgoing),
    )
    const origin = await listening(server)
    const { plain, problem } = await twice(origin, ['/'])
    expect(plain.body).toMatchObject({ type: 'Error', code: 'INTERNAL_ERROR' })
    expect(problem).toMatchObject({ status: 500, type: 'about:blank', code: 'INTERNAL_ERROR' })
    server.close().closeAllConnections()
  })
})

describe('Express', () => {
  let gateway: Gateway
  let server: Server
  let origin: string
  beforeAll(async () => {
    const app = express()
    server = createServer(app)
    origin = await listening(server)
    gateway = await createGateway(
      options(origin, {
        routes: [{ routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' }],
        rateLimitPerMinute: 0,
      }),
    )
    app.use(express.json({ limit: '1kb' }), paystile(gateway))
    app.get('/weather', payPerRequest(gateway, 'weather'), (_req, res) => void res.json({}))
    app.get(
      '/resource/:id',
      requireAccess(gateway, { resourceParam: 'id' }),
      (_req, res) => void res.json({}),
    )
  })
  afterAll(async () => {
    server.close().closeAllConnections()
    await gateway.close()
  })

  test.each<[string, Ask, number, string]>([
    [
      'a body that a parser in front refuses',
      ['/x402/access', post({ planId: 'x'.repeat(1500) })],
      413,
      'BODY_TOO_LARGE',
    ],
    [
      'an encoding that it does not know',
      ['/x402/access', post({}, { 'content-encoding': 'x' })],
      415,
      'INVALID_REQUEST',
    ],
    ['a resource without its token', ['/resource/a'], 401, 'UNAUTHORIZED'],
  ])('%s', async (_name, ask, status, code) => {
    const { plain, problem } = await twice(origin, ask)
    expect(plain).toMatchObject({ status, body: { type: 'Error', code } })
    expect(problem).toMatchObject({ status, code, type: 'about:blank' })
  })

  test('a paid route refuses a credential that is none, and one of another seller', async () => {
    const send = (authorization: string) => fetch(`${origin}/weather`, { headers: { authorization } })
    const refused = await send(BROKEN)
    expect(refused.headers.get('content-type')).toBe('application/problem+json')
    expect(await refused.json()).toMatchObject({ type: `${PROBLEMS}malformed-credential`, status: 400 })
    const good = await mppBuyer(account).credential(`${origin}/weather`)
    expect(await (await send(good)).json()).toMatchObject({ status: 503, code: 'SETTLEMENT_PENDING' })
  })
})
