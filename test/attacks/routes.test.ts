import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { dataOf, rawAgent } from '../e2e/a2a-agent.ts'
import { post, said, type ToolResult, toolCall } from '../e2e/mcp-clients.ts'
import {
  CALL_PRICE,
  PROXY_SECRET,
  ROUTES,
  type RoutesWorld,
  signatureIsGood,
  startBackend,
  startRoutesWorld,
  sunny,
} from '../e2e/routes-world.ts'
import { sendsOf } from './forge.ts'

let routes: RoutesWorld
beforeAll(async () => {
  const open = { routeId: 'open', method: 'GET', path: '/open/:name', free: true } as const
  routes = await startRoutesWorld({ options: { routes: [...ROUTES, open], mcp: { routes: true } } })
})
afterAll(() => routes.stop())
beforeEach(() => {
  routes.backend.seen.length = 0
  routes.backend.answer = sunny
})

describe('attack 3: one payload, another call', () => {
  test('before it is spent: 400 or 404, and nothing is charged', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: 5n * CALL_PRICE })
    const sends = await sendsOf(world)
    const post = { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } }
    const get = await routes.signFor(buyer, '/weather/paris?u=c')
    const report = await routes.signFor(buyer, '/report', post)
    const tries = [
      await routes.call('/weather/london?u=c', {}, get.header),
      await routes.call('/weather/paris?u=f', {}, get.header),
      await routes.call('/weather/paris', {}, get.header),
      await routes.call('/weather/p%61ris?u=c', {}, get.header),
      await routes.call('/report', post, get.header),
      await routes.call('/report', { ...post, body: '{"a":2}' }, report.header),
      await routes.call('/report', { method: 'POST' }, report.header),
      await routes.call('/weather/paris?u=c', { headers: { 'idempotency-key': 'other' } }, get.header),
      await world.pay(get.header, { routeId: 'weather', resource: { method: 'GET', path: '/weather/rome' } }),
      await world.pay(get.header, { planId: 'basic' }),
    ]
    expect(tries.map(({ status }) => status).filter((status) => ![400, 404].includes(status))).toEqual([])
    expect(backend.seen).toEqual([])
    expect(await sendsOf(world)).toBe(sends)
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test('after it is spent: 409, no second call, nothing charged', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: 5n * CALL_PRICE })
    const post = { method: 'POST', body: 'a' }
    const { header } = await routes.signFor(buyer, '/report?x=1', post)
    expect((await routes.call('/report?x=1', post, header)).status).toBe(200)
    const tries = [
      await routes.call('/report', post, header),
      await routes.call('/report?x=2', post, header),
      await routes.call('/report?x=1', { ...post, body: 'b' }, header),
      await routes.call('/report?x=1', { method: 'POST' }, header),
      await routes.call('/weather/paris', {}, header),
      await routes.call('/report?x=1', { ...post, headers: { 'idempotency-key': 'other' } }, header),
      await world.pay(header, { routeId: 'report' }),
      await world.pay(header, {}),
      await world.pay(header, { planId: 'basic' }),
    ]
    for (const { status, body } of tries) expect([status, body.code]).toEqual([409, 'TX_ALREADY_REDEEMED'])
    expect(backend.seen).toHaveLength(1)
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })

  test('a requestId names one exact call', async () => {
    const headers = { 'idempotency-key': 'one-call' }
    expect((await routes.call('/weather/paris', { headers })).status).toBe(402)
    for (const target of ['/weather/london', '/weather/paris?x=1']) {
      expect(await routes.call(target, { headers })).toMatchObject({
        status: 400,
        body: { code: 'INVALID_REQUEST' },
      })
    }
  })
})

const OUTSIDE = [
  '/admin',
  '/weather',
  '/weather/paris/secret',
  '/weather/../admin',
  '/weather/%2e%2e/admin',
  '/weather/..',
  '/weather/%2e%2e',
  '/weather/a%2fb',
  '/weather/a%5Cb',
  '/weather/%252e%252e',
  '/weather/%00',
  '/weather/a%0d%0aHost:evil',
  'weather/paris',
  '',
]
const ELSEWHERE = [
  '.evil.com/weather/paris',
  '@evil.com/weather/paris',
  '//evil.com/weather/paris',
  '/\\evil.com/weather/paris',
  '\\\\evil.com\\weather\\paris',
  ':8081/weather/paris',
  'http://evil.com/weather/paris',
  'https:evil.com',
  '/weather/paris#@evil.com',
  '/weather/paris\r\nHost: evil.com',
  '/weather/\tparis',
  ' /weather/paris',
]

/** Servers cut parameters off, decode twice, trim, or fold what looks like a dot. */
const DOT_SEGMENTS = [
  '..;',
  '..;x=1',
  '.;',
  '%2e%2e;',
  '.%2E;',
  '..%3b',
  '%2e%2e%3B',
  '%252e%252e',
  '..%253b',
  '%25252e.',
  '..%2f',
  'x%2f..%2f',
  '..%5c',
  '..%20',
  '...',
  '..%3f',
  '%c0%ae%c0%ae',
  '%ef%bc%8e%ef%bc%8e',
  '..%ef%bc%8f',
  '%e2%80%a5',
  '.%e2%80%8b.',
]

describe('attack 26, 27: a path that is not the route’s', () => {
  test.each([...OUTSIDE, ...ELSEWHERE])('resource.path %j: 400 before charging', async (path) => {
    const { world, backend } = routes
    const sends = await sendsOf(world)
    const body = { routeId: 'weather', resource: { method: 'GET', path } }
    const unpaid = await world.access(body)
    expect(unpaid.status).toBe(400)
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header } = await routes.signFor(buyer, '/weather/paris')
    expect((await world.pay(header, body)).status).toBe(400)
    expect(backend.seen).toEqual([])
    expect(await sendsOf(world)).toBe(sends)
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test.each([
    ...OUTSIDE.filter((path) => path.startsWith('/')),
    ...ELSEWHERE.filter((path) => !/[\r\n\t ]/.test(path)),
  ])('request target %j, on the wire, with a payment: refused, not corrected', async (target) => {
    const { world, backend } = routes
    const sends = await sendsOf(world)
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header } = await routes.signFor(buyer, '/weather/paris')
    const answer = await routes.raw(
      `GET ${target} HTTP/1.1\r\nhost: evil.com\r\npayment-signature: ${header}\r\nconnection: close\r\n\r\n`,
    )
    const absolute = target.startsWith('http://')
    // Of an absolute target only the path counts: it is the very call that was paid, and goes to our backend.
    // The standalone server has a page of its own there, for the operator alone.
    const refused = world.apart && target === '/admin' ? /^HTTP\/1.1 401 / : /^HTTP\/1.1 (400|404) /
    expect(answer).toMatch(absolute ? /^HTTP\/1.1 200 / : refused)
    expect(backend.seen.map(({ url }) => url)).toEqual(absolute ? ['/weather/paris'] : [])
    if (!absolute) expect(await sendsOf(world)).toBe(sends)
  })

  test('a segment that a backend may read as "." or "..": 400 on every way in, and nothing reaches it', async () => {
    const { world, backend } = routes
    const sends = await sendsOf(world)
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header } = await routes.signFor(buyer, '/weather/paris')
    const agent = rawAgent(`${world.baseUrl}/a2a`)
    for (const segment of DOT_SEGMENTS) {
      for (const path of [`/weather/${segment}`, `/open/${segment}`, `/resource/${segment}`]) {
        const payment = `payment-signature: ${header}\r\n`
        for (const more of ['', payment, 'authorization: Bearer x\r\n']) {
          const head = `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}connection: close\r\n\r\n`
          expect(await routes.raw(head), `${path} ${more}`).toMatch(/^HTTP\/1.1 400 /)
        }
      }
      const asked = { routeId: 'weather', resource: { method: 'GET', path: `/weather/${segment}` } }
      for (const answer of [await world.access(asked), await world.pay(header, asked)]) {
        expect([answer.status, answer.headers.get('payment-required')], segment).toEqual([400, null])
      }
      const { result } = await agent.ask(asked)
      expect([result?.status.state, dataOf(result)?.code], segment).toEqual(['failed', 'ROUTE_NOT_FOUND'])
    }
    // Over MCP the gateway encodes: what the model says is the segment itself.
    for (const city of ['..;', '.;x', '..', '...', '．．', '.\u200b.', '..?']) {
      const answer = await post(world.baseUrl, toolCall('weather', { city }))
      const { result, error } = (await answer.json()) as { result?: ToolResult; error?: { code: number } }
      if (error) expect(error.code).toBe(-32602)
      else expect([result!.isError, said(result!).accepts], city).toEqual([true, undefined])
    }
    expect(backend.seen).toEqual([])
    expect(await sendsOf(world)).toBe(sends)
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test('a method that is not the route’s', async () => {
    const { world } = routes
    for (const method of ['POST', 'DELETE', 'HEAD', 'TRACE', 'GET /admin']) {
      const body = { routeId: 'weather', resource: { method, path: '/weather/paris' } }
      expect((await world.access(body)).status).toBe(400)
    }
  })
})

describe('attack 28: a backend that redirects', () => {
  test.each(['absolute', 'relative'])('%s: not followed, nothing leaks, PAID', async (kind) => {
    const { world, backend } = routes
    const thief = await startBackend()
    try {
      const location = kind === 'absolute' ? `${thief.url}/steal` : '/elsewhere'
      backend.answer = (_call, response) => void response.writeHead(307, { location }).end()
      const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
      const { header, required } = await routes.signFor(buyer, '/weather/paris')
      const answer = await routes.call('/weather/paris', {}, header)
      expect(answer.body.resource).toEqual({ status: 307, body: null })
      expect(thief.seen).toEqual([])
      expect(backend.seen).toHaveLength(1)
      expect((await world.status(required.challengeId)).state).toBe('PAID')
    } finally {
      await thief.stop()
    }
  })
})

describe('attack 29: headers that are not the client’s to send', () => {
  const hostile = [
    'x-svc-payer: 0xevil',
    'X-SVC-Tx-Hash: 0xevil',
    'x_svc_payer: 0xevil',
    'x-svc-signature: t=1,v1=00',
    'connection: close, x-own-hop',
    'x-own-hop: smuggled',
    'te: trailers',
    'x-http-method-override: DELETE',
    'x-original-url: /admin',
    'x-original-host: evil.com',
    'X-Original-Method: DELETE',
    'x-rewrite-url: /admin',
    'x_rewrite_path: /admin',
    'x-forwarded-for: 127.0.0.1',
    'x-forwarded-user: admin',
    'X-Forwarded-Uri: /admin',
    'x_forwarded_host: evil.com',
    'forwarded: for=127.0.0.1',
    'x-real-ip: 127.0.0.1',
    'true-client-ip: 127.0.0.1',
    'cf-connecting-ip: 127.0.0.1',
    'x-host: evil.com',
    'proxy-authorization: Basic eA==',
    'keep-alive: timeout=99',
    'expect: 100-continue',
  ]

  test('are stripped from a paid call and from a free one', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header } = await routes.signFor(buyer, '/weather/paris')
    const lines = `host: evil.com\r\n${hostile.join('\r\n')}\r\n`
    await routes.raw(`GET /weather/paris HTTP/1.1\r\n${lines}payment-signature: ${header}\r\n\r\n`)
    await routes.raw(`GET /cities HTTP/1.1\r\n${lines}\r\n`)
    const [paid, free] = backend.seen
    expect(paid!.headers).toMatchObject({ 'x-svc-payer': buyer.address.toLowerCase() })
    expect(signatureIsGood(paid!)).toBe(true)
    for (const { headers } of [paid!, free!]) {
      expect(JSON.stringify(headers)).not.toMatch(/evil|smuggled|DELETE|admin|127\.0\.0\.1:?"|timeout=99/)
      expect(headers).not.toHaveProperty('payment-signature')
      expect(headers.host).toBe(new URL(backend.url).host)
    }
  })

  test('behind a proxy that is trusted its own words pass, and what changes the call still does not', async () => {
    const behind = await startRoutesWorld({ options: { trustProxy: true } })
    try {
      const { world, backend } = behind
      const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
      const { header } = await behind.signFor(buyer, '/weather/paris')
      const lines = `host: x\r\nconnection: close\r\n${hostile.join('\r\n')}\r\n`
      await behind.raw(`GET /weather/paris HTTP/1.1\r\n${lines}payment-signature: ${header}\r\n\r\n`)
      await behind.raw(`GET /cities HTTP/1.1\r\n${lines}\r\n`)
      expect(backend.seen).toHaveLength(2)
      for (const { headers } of backend.seen) {
        expect(headers).toMatchObject({
          forwarded: 'for=127.0.0.1',
          'x-forwarded-for': '127.0.0.1',
          'x-forwarded-user': 'admin',
          'x-real-ip': '127.0.0.1',
        })
        expect(Object.keys(headers).filter((name) => /method|rewrite|original.ur|_svc/.test(name))).toEqual(
          [],
        )
      }
    } finally {
      await behind.stop()
    }
  })

  test('two requests in one body, or two lengths, never become a second call', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: 2n * CALL_PRICE })
    const smuggled = 'GET /weather/london HTTP/1.1\r\nhost: x\r\n\r\n'
    const init = { method: 'POST', body: smuggled }
    const { header } = await routes.signFor(buyer, '/report', init)
    const head = `POST /report HTTP/1.1\r\nhost: x\r\npayment-signature: ${header}\r\n`
    const both = `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`
    expect(await routes.raw(both)).toMatch(/^HTTP\/1.1 400 /)
    const twice = `${head}content-length: 0\r\ncontent-length: ${smuggled.length}\r\n\r\n${smuggled}`
    expect(await routes.raw(twice)).toMatch(/^HTTP\/1.1 400 /)
    expect(backend.seen).toEqual([])
    const honest = `${head}connection: close\r\ncontent-length: ${smuggled.length}\r\n\r\n${smuggled}`
    expect(await routes.raw(honest)).toMatch(/^HTTP\/1.1 200 /)
    expect(backend.seen.map(({ method, url, body }) => [method, url, body.toString()])).toEqual([
      ['POST', '/report', smuggled],
    ])
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })

  test('the payment header twice is 400, and nothing is charged', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: 2n * CALL_PRICE })
    const { header } = await routes.signFor(buyer, '/weather/paris')
    const twice = `payment-signature: ${header}\r\nPayment-Signature: ${header}\r\n`
    const answer = await routes.raw(
      `GET /weather/paris HTTP/1.1\r\nhost: x\r\n${twice}connection: close\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(backend.seen).toEqual([])
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test('a body over the limit is 413 before anything is charged', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header } = await routes.signFor(buyer, '/report', { method: 'POST' })
    const large = { method: 'POST', body: Buffer.alloc(1_048_577) }
    expect((await routes.call('/report', large, header)).status).toBe(413)
    expect(backend.seen).toEqual([])
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })
})

describe('attack 13: a result goes to its buyer alone', () => {
  test('a payload rebuilt from public calldata gets nothing of the answer', async () => {
    const { world } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header } = await routes.signFor(buyer, '/weather/paris')
    expect((await routes.call('/weather/paris', {}, header)).status).toBe(200)
    const payload = JSON.parse(Buffer.from(header, 'base64').toString())
    const { salt: _salt, ...extra } = payload.accepted.extra
    const rebuilt = { ...payload, accepted: { ...payload.accepted, extra } }
    const stolen = Buffer.from(JSON.stringify(rebuilt)).toString('base64')
    expect(await routes.call('/weather/paris', {}, stolen)).toMatchObject({
      status: 409,
      body: { code: 'TX_ALREADY_REDEEMED' },
    })
  })
})

test('a secret that is configured never leaves the gateway', async () => {
  const { world } = routes
  const texts = await Promise.all(
    ['/discover', '/health', '/ready', '/nowhere', '/weather/paris'].map(async (path) =>
      (await fetch(world.baseUrl + path)).text(),
    ),
  )
  expect(texts.join()).not.toContain(PROXY_SECRET)
  expect(texts.join()).not.toContain(new URL(routes.backend.url).host)
})
