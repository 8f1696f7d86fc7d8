import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  CALL_PRICE,
  PROXY_SECRET,
  type RoutesWorld,
  signatureIsGood,
  startBackend,
  startRoutesWorld,
  sunny,
} from '../e2e/routes-world.ts'
import { sendsOf } from './forge.ts'

let routes: RoutesWorld
beforeAll(async () => {
  routes = await startRoutesWorld()
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
