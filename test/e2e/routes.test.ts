import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import {
  CALL_PRICE,
  type RoutesWorld,
  type Seen,
  signatureIsGood,
  startRoutesWorld,
  sunny,
} from './routes-world.ts'
import { eventually, type Strategy } from './world.ts'

const json = { 'content-type': 'application/json' }

describe.each<Strategy>(['gas-wallet', 'facilitator'])('selling calls by %s', (strategy) => {
  let routes: RoutesWorld
  beforeAll(async () => {
    routes = await startRoutesWorld({ strategy, store: 'embedded' })
  })
  afterAll(() => routes.stop())
  beforeEach(() => {
    routes.backend.seen.length = 0
    routes.backend.answer = sunny
  })

  test('an unpaid call gets terms for exactly this call, and the backend gets no request', async () => {
    const { world, backend } = routes
    const answer = await routes.call('/weather/paris?units=c')
    expect(answer.status).toBe(402)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.body).toMatchObject({
      x402Version: 2,
      error: 'Payment required',
      resource: { url: `${world.baseUrl}/weather/paris?units=c`, method: 'GET', description: 'One city' },
      accepts: [{ amount: String(CALL_PRICE), extra: { routeId: 'weather' } }],
      extensions: {
        svc: {
          inputSchema: { required: expect.arrayContaining(['routeId', 'resource']) },
          outputSchema: { properties: { type: { const: 'ResourceResponse' } } },
        },
      },
    })
    expect(answer.headers.get('www-authenticate')).toContain(`challenge="${answer.body.challengeId}"`)
    expect(backend.seen).toEqual([])
  })

  test('a paid call reaches the backend once, signed, and its replay gets the stored answer', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const books = await world.ledger(buyer)
    const target = '/weather/paris?units=c&q=a%20b+c'
    const init = {
      headers: { 'idempotency-key': `once-${strategy}`, 'x-own': 'kept', 'x-svc-payer': '0xevil' },
    }
    const { header, required } = await routes.signFor(buyer, target, init)
    const first = await routes.call(target, init, header)
    expect(first).toMatchObject({
      status: 200,
      body: {
        type: 'ResourceResponse',
        challengeId: required.challengeId,
        requestId: `once-${strategy}`,
        routeId: 'weather',
        resource: { status: 200, body: { url: target, sky: 'clear' }, contentType: 'application/json' },
      },
      receipt: { success: true },
    })
    const { txHash } = first.body
    expect(first.receipt?.transaction).toBe(txHash)
    expect(first.headers.get('cache-control')).toBe('no-store, private')
    const [seen] = backend.seen as [Seen]
    expect(seen.headers).toMatchObject({
      'x-own': 'kept',
      'x-svc-tx-hash': txHash,
      'x-svc-plan-id': 'weather',
      'x-svc-route-id': 'weather',
      'x-svc-challenge-id': required.challengeId,
      'x-svc-request-id': `once-${strategy}`,
      'x-svc-amount': String(CALL_PRICE),
      'x-svc-payer': buyer.address.toLowerCase(),
      'x-svc-network': 'eip155:84532',
    })
    expect(seen.headers).not.toHaveProperty('payment-signature')
    expect(signatureIsGood(seen)).toBe(true)
    expect(signatureIsGood({ ...seen, url: '/weather/london' })).toBe(false)

    const again = await routes.call(target, init, header)
    expect([again.status, again.body]).toEqual([200, first.body])
    expect(again.headers.get('x-svc-code')).toBe('PROOF_ALREADY_REDEEMED')
    const envelope = { routeId: 'weather', resource: { method: 'GET', path: target } }
    expect((await world.pay(header, envelope)).body, 'the same call by the other door').toEqual(first.body)
    expect(backend.seen).toHaveLength(1)
    expect(await books.changes()).toEqual({ seller: CALL_PRICE, buyers: [-CALL_PRICE] })
    expect((await world.status(required.challengeId)).state).toBe('DELIVERED')
  })

  test('every call needs a payment of its own', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: 3n * CALL_PRICE })
    for (const city of ['paris', 'london', 'paris']) {
      const { header } = await routes.signFor(buyer, `/weather/${city}`)
      expect((await routes.call(`/weather/${city}`, {}, header)).status).toBe(200)
    }
    expect(backend.seen.map(({ url }) => url)).toEqual([
      '/weather/paris',
      '/weather/london',
      '/weather/paris',
    ])
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE, CALL_PRICE, CALL_PRICE], refunded: [] })
  })

  test('POST /x402/access sells the same, with a JSON body in its envelope', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const resource = { method: 'post', path: '/report?day=1', body: { city: 'paris' } }
    const answer = await world.buy(buyer, { routeId: 'report', resource })
    expect(answer).toMatchObject({ status: 200, body: { type: 'ResourceResponse', routeId: 'report' } })
    expect(backend.seen).toMatchObject([{ method: 'POST', url: '/report?day=1' }])
    expect(backend.seen[0]!.headers['content-type']).toBe('application/json')
    expect(JSON.parse(backend.seen[0]!.body.toString())).toEqual({ city: 'paris' })
  })

  test.each([
    ['a paid GET', 'GET /weather/paris'],
    ['a HEAD of it', 'HEAD /weather/paris'],
    ['a free GET', 'GET /cities'],
  ])('%s with a body is refused, and not sold without it', async (_what, start) => {
    const calls = routes.backend.seen.length
    const head = `${start} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n`
    for (const body of [
      'content-length: 14\r\n\r\n{"days":"ten"}',
      'transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n',
    ])
      expect(await routes.raw(head + body)).toMatch(/^HTTP\/1.1 400 /)
    expect(routes.backend.seen).toHaveLength(calls)
    for (const none of ['content-length: 0\r\n\r\n', 'transfer-encoding: chunked\r\n\r\n0\r\n\r\n'])
      expect(await routes.raw(head + none)).toMatch(/^HTTP\/1.1 (200|402) /)
  })

  test('a binary request body arrives byte for byte', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const body = Buffer.from([...Array(256).keys()])
    const init = { method: 'POST', body, headers: { 'content-type': 'application/octet-stream' } }
    const { header } = await routes.signFor(buyer, '/report', init)
    expect((await routes.call('/report', init, header)).status).toBe(200)
    expect(backend.seen[0]!.body.equals(body)).toBe(true)
    expect(backend.seen[0]!.headers['content-type']).toBe('application/octet-stream')
  })

  test('the unmodified official client calls a paid route directly', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: 2n * CALL_PRICE })
    const client = new x402Client()
    client.register('eip155:*', new ExactEvmScheme(buyer.account))
    const pay = wrapFetchWithPayment(fetch, client)
    const got = await pay(`${world.baseUrl}/weather/oslo?units=f`)
    expect([got.status, await got.json()]).toMatchObject([200, { resource: { body: { sky: 'clear' } } }])
    const body = JSON.stringify({ city: 'oslo' })
    const posted = await pay(`${world.baseUrl}/report`, { method: 'POST', body, headers: json })
    expect(posted.status).toBe(200)
    expect(backend.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /weather/oslo?units=f',
      'POST /report',
    ])
    expect(backend.seen[1]!.body.toString()).toBe(body)
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE, CALL_PRICE], refunded: [] })
  })

  test('our own buyer’s fetch pays for a route, within its limit', async () => {
    const { world } = routes
    const account = await world.chain.newBuyer({ micro: CALL_PRICE })
    const buyer = createBuyer({ account: account.account, maxAmount: '$0.01' })
    const answer = await buyer.fetch(`${world.baseUrl}/weather/rome`)
    expect([answer.status, await answer.json()]).toMatchObject([200, { routeId: 'weather' }])
    expect(await world.flows(account)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })
})

describe('answers of every kind', () => {
  let routes: RoutesWorld
  beforeAll(async () => {
    routes = await startRoutesWorld({ options: { maxResourceBytes: 20_000 } })
  })
  afterAll(() => routes.stop())

  const BIG = '{"a":9007199254740993,"b":1e400}'
  const DEEP = '['.repeat(9000) + ']'.repeat(9000)
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255])
  test.each<[string, number, Record<string, string>, Buffer | string, object]>([
    ['JSON', 200, json, '{"a":[1,"ü"]}', { body: { a: [1, 'ü'] }, contentType: 'application/json' }],
    ['text', 200, { 'content-type': 'text/csv' }, 'a,b\n', { body: 'a,b\n', contentType: 'text/csv' }],
    [
      'binary',
      200,
      { 'content-type': 'image/png' },
      png,
      { body: png.toString('base64'), encoding: 'base64', contentType: 'image/png' },
    ],
    ['numbers that JavaScript does not hold', 200, json, BIG, { body: { a: 2 ** 53, b: null }, text: BIG }],
    [
      'JSON nested too deep to be written down',
      200,
      json,
      DEEP,
      { body: Buffer.from(DEEP).toString('base64'), encoding: 'base64' },
    ],
    ['empty', 204, {}, '', { body: null }],
    ['as large as allowed', 201, { 'content-type': 'text/plain' }, 'x'.repeat(20_000), {}],
  ])('%s survive, on the first call and on its replay', async (_name, status, headers, body, expected) => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    backend.answer = (_call, response) => void response.writeHead(status, headers).end(body)
    const { header } = await routes.signFor(buyer, '/weather/paris')
    const first = await routes.call('/weather/paris', {}, header)
    expect(first.body.resource).toMatchObject({ status, ...expected })
    const calls = backend.seen.length
    expect((await routes.call('/weather/paris', {}, header)).body).toEqual(first.body)
    expect(backend.seen).toHaveLength(calls)
  })

  test('a free route passes through, streaming, without a payment', async () => {
    const { world, backend } = routes
    let more: () => void = () => {}
    backend.answer = (_call, response) => {
      response.writeHead(206, {
        'content-type': 'text/plain',
        'x-own': '1',
        connection: 'x-hop',
        'x-hop': '1',
      })
      response.write('first ')
      more = () => response.end('second')
    }
    const answer = await fetch(`${world.baseUrl}/cities?page=2`, { headers: { 'x-svc-payer': '0xevil' } })
    expect([answer.status, answer.headers.get('x-own'), answer.headers.get('x-hop')]).toEqual([
      206,
      '1',
      null,
    ])
    const reader = answer.body!.getReader()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('first ')
    more()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('second')
    const seen = backend.seen.at(-1)!
    expect(seen.url).toBe('/cities?page=2')
    expect(Object.keys(seen.headers).filter((name) => name.startsWith('x-svc-'))).toEqual([])
    const asked = await world.access({ routeId: 'cities', resource: { method: 'GET', path: '/cities' } })
    expect(asked).toMatchObject({ status: 400, body: { message: expect.stringContaining('is free') } })
  })

  test('a token of a plan opens the resource endpoint, and nothing else', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: 2_000_000n })
    const { body: grant } = await world.buy(buyer, { planId: 'basic', resourceId: 'maps' })
    expect(grant.resourceEndpoint).toBe(`${world.baseUrl}/resource/maps`)
    backend.answer = (call, response) => void response.writeHead(202).end(call.body)
    const before = backend.seen.length
    const headers = { authorization: `Bearer ${grant.accessToken}`, 'x-svc-payer': '0xevil' }
    const opened = await fetch(`${grant.resourceEndpoint}?zoom=3`, { method: 'POST', headers, body: 'hi' })
    expect([opened.status, await opened.text()]).toEqual([202, 'hi'])
    expect(backend.seen).toHaveLength(before + 1)
    const seen = backend.seen.at(-1)!
    expect(seen).toMatchObject({ method: 'POST', url: '/resource/maps?zoom=3' })
    expect(seen.headers).toMatchObject({
      'x-svc-payer': buyer.address.toLowerCase(),
      'x-svc-plan-id': 'basic',
      'x-svc-challenge-id': grant.challengeId,
      'x-svc-tx-hash': grant.txHash,
    })
    expect(seen.headers).not.toHaveProperty('authorization')
    expect(signatureIsGood(seen)).toBe(true)

    const other = await fetch(`${world.baseUrl}/resource/other`, { headers })
    expect([other.status, other.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer realm="${world.baseUrl}", error="invalid_token"`,
    ])
    expect((await fetch(`${world.baseUrl}/resource/maps`)).status).toBe(401)
    expect((await routes.call('/weather/paris', { headers })).status, 'no token for routes').toBe(402)
    expect(backend.seen).toHaveLength(before + 1)
  })

  test('RESOURCE_REQUIRED and ROUTE_NOT_FOUND answer before anything is asked or charged', async () => {
    const { world } = routes
    expect(await world.access({ routeId: 'weather' })).toMatchObject({
      status: 400,
      body: { code: 'RESOURCE_REQUIRED' },
    })
    expect(await world.access({ routeId: 'nope', resource: { method: 'GET', path: '/x' } })).toMatchObject({
      status: 400,
      body: { code: 'ROUTE_NOT_FOUND' },
    })
    expect(
      (await fetch(`${world.baseUrl}/discover`).then((answer) => answer.json())) as object,
    ).toMatchObject({
      routes: [
        { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' },
        { routeId: 'report' },
        { routeId: 'cities', free: true },
      ],
    })
    const wrong = await fetch(`${world.baseUrl}/weather/paris`, { method: 'DELETE' })
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })

  test('a client that leaves in the middle is served all the same, and fetches the result with its retry', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const books = await world.ledger(buyer)
    let release: () => void = () => {}
    backend.answer = (call, response) => {
      release = () => sunny(call, response)
    }
    const before = backend.seen.length
    const { header, required } = await routes.signFor(buyer, '/weather/paris')
    const leaving = new AbortController()
    const left = routes.call('/weather/paris', { signal: leaving.signal }, header).catch(() => 'gone')
    await eventually(() => backend.seen.length > before)
    leaving.abort()
    expect(await left).toBe('gone')
    release()
    await world.until(required.challengeId, 'DELIVERED')
    const retry = await routes.call('/weather/paris', {}, header)
    expect(retry).toMatchObject({ status: 200, body: { resource: { status: 200 } } })
    expect(backend.seen).toHaveLength(before + 1)
    expect(await books.changes()).toEqual({ seller: CALL_PRICE, buyers: [-CALL_PRICE] })
  })
})
