import { describe, expect, test } from 'vitest'
import { handlerParts } from '../../../test/transports/sample-handler.ts'
import { sampleDialects, samplePaymentHeader } from '../../../test/transports/sample-x402.ts'
import type { Forwarded, Intent, Outcome, RouteCall } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { Route } from '../../protocol/catalog.ts'
import { buildCatalog } from '../../rules/catalog.ts'
import { createHttpHandler, type HttpHandlerOptions } from './create-http-handler.ts'
import type { RateVerdict } from './rate-limit.ts'

const routes: Route[] = [
  { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' },
  { routeId: 'report', method: 'POST', path: '/weather/:city', unitAmount: '$0.02' },
  { routeId: 'cities', method: 'GET', path: '/cities', free: true },
  { routeId: 'echo', method: 'POST', path: '/echo', free: true },
]
const claims = {
  aud: 'https://api.example/resource/default?v=1',
  sub: '0x1',
  planId: 'basic',
  jti: 'http-9',
  txHash: '0xab',
}

interface Script {
  forwarded?: Forwarded
  baseUrl?: string
  options?: Partial<HttpHandlerOptions>
  claims?: typeof claims
}

function gateway({
  forwarded,
  baseUrl = 'https://api.example',
  options = {},
  claims: given = claims,
}: Script = {}) {
  const intents: Intent[] = []
  const calls: Array<{ to: unknown; call: RouteCall }> = []
  const pass = async (to: unknown, call: RouteCall): Promise<Forwarded> => {
    calls.push({ to, call })
    return forwarded ?? new Response('from the backend', { status: 203, headers: { 'x-own': '1' } })
  }
  const { fetch, handle } = createHttpHandler({
    engine: {
      offer: () => undefined,
      async purchase(intent): Promise<Outcome> {
        intents.push(intent)
        return { kind: 'failed', error: new GatewayError('PAYMENT_FAILED', 'asked the engine') }
      },
      status: async () => undefined,
    },
    dialects: sampleDialects(baseUrl),
    discovery: { plans: [], routes } as never,
    baseUrl,
    ...handlerParts,
    routes: { catalog: buildCatalog([], routes), forwardFree: pass },
    guarded: {
      path: '/resource/{resourceId}',
      resourceIdOf: () => undefined,
      verifyAccess: async ({ headers }) =>
        headers.get('authorization') === 'Bearer good'
          ? { ok: true, claims: given }
          : { ok: false, error: new GatewayError('UNAUTHORIZED', 'no') },
      forward: (call, access) => pass(access, call),
    },
    ...options,
  })
  /** A request with the raw target, as our node:http bridge makes it. */
  const raw = (method: string, target: string, headers: Record<string, string> = {}, peer = {}) => {
    const request = new Request('http://internal/', { method, headers })
    return fetch(Object.defineProperty(request, 'url', { value: `http://internal${target}` }), peer)
  }
  const send = (method: string, target: string, init: RequestInit = {}, peer = {}) =>
    fetch(new Request(`http://internal${target}`, { method, ...init }), peer)
  return { send, raw, handle, intents, calls }
}
const json = async (answer: Response) => (await answer.json()) as Record<string, unknown>
const paying = samplePaymentHeader()

describe('a direct call of a paid route', () => {
  test('is asked for with method, path, query, headers and body, byte for byte', async () => {
    const { send, intents } = gateway()
    const body = new Uint8Array([0, 255, 10])
    const headers = { 'idempotency-key': 'k-1', 'x-own': '1', 'payment-signature': paying }
    expect((await send('POST', '/weather/par%69s?b=2&a=1&a=%20+', { body, headers })).status).toBe(402)
    expect(intents).toMatchObject([
      { transport: 'http', routeId: 'report', requestId: 'k-1', call: { method: 'POST' } },
    ])
    const { call } = intents[0]!
    expect(call?.path).toBe('/weather/par%69s?b=2&a=1&a=%20+')
    expect(call?.headers).toMatchObject({ 'x-own': '1' })
    expect([...call!.body!]).toEqual([0, 255, 10])
  })

  test('an offer needs no headers', async () => {
    const { send, intents } = gateway()
    await send('GET', '/weather/paris', { headers: { 'x-own': '1' } })
    expect(intents[0]?.call).toMatchObject({ path: '/weather/paris', headers: {} })
  })

  test('a GET whose body was lost on the way is refused', async () => {
    const { raw, intents, calls } = gateway()
    for (const target of ['/weather/paris', '/cities'])
      expect((await raw('GET', target, { 'content-length': '5' })).status).toBe(400)
    expect([intents, calls]).toEqual([[], []])
  })

  test('below a base path is the route’s path alone', async () => {
    const { send, intents } = gateway({ baseUrl: 'https://api.example/pay/v1' })
    await send('GET', '/pay/v1/weather/paris?x')
    expect(intents[0]).toMatchObject({ routeId: 'weather', call: { path: '/weather/paris?x', body: null } })
    expect((await send('GET', '/weather/paris')).status).toBe(404)
  })

  test('a body over the cap is 413 and a malformed payment 400: the engine is not asked', async () => {
    const { send, intents } = gateway()
    expect((await send('POST', '/weather/paris', { body: 'x'.repeat(101) })).status).toBe(413)
    expect((await send('GET', '/weather/paris', { headers: { 'payment-signature': 'x' } })).status).toBe(400)
    const head = await send('HEAD', '/weather/paris', { headers: { 'payment-signature': paying } })
    expect(head.status).toBe(400)
    expect(intents).toEqual([])
  })

  test('HEAD asks for GET’s terms, OPTIONS is a preflight for every method, any other is 405', async () => {
    const { send, intents } = gateway()
    const head = await send('HEAD', '/weather/paris')
    expect([head.status, await head.text()]).toEqual([402, ''])
    expect(intents[0]?.call?.method).toBe('GET')
    const preflight = await send('OPTIONS', '/weather/paris')
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([
      204,
      'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
    ])
    const put = await send('PUT', '/weather/paris')
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST, OPTIONS'])
  })

  test.each([
    '/weather/../cities',
    '/weather/./paris',
    '//evil.example/weather/paris',
    '/weather\\paris',
    '/weather/paris#x',
    '/weather/pa ris',
    "/weather/paris?q=it's",
  ])('%s is no path that every parser reads alike: 400', async (target) => {
    const { raw, intents, calls } = gateway()
    const answer = await raw('GET', target)
    expect([answer.status, (await json(answer)).code]).toEqual([400, 'INVALID_REQUEST'])
    expect([intents, calls]).toEqual([[], []])
  })

  test.each([
    '/weather/%2e%2e',
    '/weather/a%2Fb',
    '/weather/a%5cb',
    '/weather/a%252fb',
    '/weather/%00',
    '/weather/',
    '/weather/paris/',
    '/Weather/paris',
    "/elsewhere?q=it's",
  ])('%s is no route', async (target) => {
    const { raw, intents, calls } = gateway()
    expect([400, 404]).toContain((await raw('GET', target)).status)
    expect([intents, calls]).toEqual([[], []])
  })

  test.each([
    ['/weather/a%2Fb', '%2F'],
    ['/weather/a%5cb?q=1', '%5c'],
    ['/weather/a%252fb', '%25'],
    ['/weather/%00', '%00'],
    ['/weather/a%C2%85b', '%C2%85'],
    ['/weather//paris', '//'],
    ['//cities///', undefined],
    ['/weather///par%2Fis', '///'],
    ["/weather/a%2Fb?q=it's", '%2F'],
    ['/weather//', undefined],
    ['/weather/', undefined],
    ['/weather/a%2Fb/c', undefined],
    ['/elsewhere/a%2Fb', undefined],
    ['/we%2Fther/paris', undefined],
  ])('%s would fit a route without %s: 400 names that, and any other path is 404', async (target, named) => {
    const { raw, intents } = gateway()
    const answer = await raw('GET', target)
    const said = await json(answer)
    if (named === undefined) expect([400, 404]).toContain(answer.status)
    else {
      expect([answer.status, said.code]).toEqual([400, 'INVALID_REQUEST'])
      const path = target.split('?')[0]
      expect(said.message).toBe(
        `the path ${path} has "${named}", which servers read in different ways; nothing was charged`,
      )
      expect(said.hint).toContain('GET /weather/:city')
    }
    expect(intents).toEqual([])
  })

  test('such a path on a shared host is passed on to the next handler', async () => {
    const { handle } = gateway()
    for (const path of ['/weather/a%2Fb', '/weather//paris', '/elsewhere'])
      expect(await handle(new Request(`http://internal${path}`))).toBeUndefined()
  })

  test('unpaid ones are limited, and the 404 lists what can be called', async () => {
    const rateLimit = () => ({ ok: false, retryAfterSeconds: 9 }) as const
    const { send, intents, calls } = gateway({ options: { rateLimit } })
    const peer = { address: '9.9.9.9' }
    expect((await send('GET', '/weather/paris', {}, peer)).status).toBe(429)
    expect((await send('GET', '/cities', {}, peer)).status).toBe(429)
    await send('GET', '/weather/paris', { headers: { 'payment-signature': paying } }, peer)
    expect([intents.length, calls.length]).toEqual([1, 0])
    expect((await json(await send('GET', '/nowhere'))).endpoints).toContain('POST /weather/:city')
  })

  test.each([
    ['GET', '/nowhere', 404],
    ['PUT', '/weather/paris', 405],
    ['GET', "/weather/paris?q=it's", 400],
  ])('%s %s, which is no call, counts like a request without payment', async (method, target, status) => {
    let room = 1
    const rateLimit = () => (room-- > 0 ? { ok: true } : { ok: false, retryAfterSeconds: 9 }) as RateVerdict
    const { raw } = gateway({ options: { rateLimit } })
    const peer = { address: '9.9.9.9' }
    expect((await raw(method, target, {}, peer)).status).toBe(status)
    expect((await raw(method, target, {}, peer)).status).toBe(429)
  })

  test('paid ones are limited where payments of the address fail too often', async () => {
    const failureLimit = () => ({ ok: false, retryAfterSeconds: 9 }) as const
    const { send, intents } = gateway({ options: { failureLimit } })
    const headers = { 'payment-signature': paying }
    expect((await send('GET', '/weather/paris', { headers }, { address: '9.9.9.9' })).status).toBe(429)
    expect(intents).toEqual([])
    await send('GET', '/weather/paris', {}, { address: '9.9.9.9' })
    expect(intents).toMatchObject([{ address: '9.9.9.9' }])
  })

  test('where the seller’s own server answers, the gateway knows nothing of it', async () => {
    const { send } = gateway({ options: { routes: undefined } as never })
    for (const target of ['/weather/paris', "/weather/paris?q=it's", '/cities']) {
      const answer = await send('GET', target)
      expect([answer.status, answer.headers.get('x-svc-code')]).toEqual([404, 'INVALID_REQUEST'])
    }
    expect((await send('OPTIONS', '/weather/paris')).status).toBe(404)
  })
})

describe('a free route', () => {
  test('is passed on, and its answer passed back', async () => {
    const { send, calls, intents } = gateway()
    const answer = await send('POST', '/echo?x=1', { body: 'hi' })
    expect([answer.status, answer.headers.get('x-own'), await answer.text()]).toEqual([
      203,
      '1',
      'from the backend',
    ])
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(calls).toMatchObject([{ to: 'echo', call: { method: 'POST', path: '/echo?x=1' } }])
    expect(intents).toEqual([])
    await send('HEAD', '/cities')
    expect(calls[1]?.call.method).toBe('HEAD')
  })

  test('the backend’s own CORS stays, and its absence is 502 or 504', async () => {
    const headers = { 'access-control-allow-origin': 'https://a.example' }
    const answer = await gateway({ forwarded: new Response(null, { headers }) }).send('GET', '/cities')
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://a.example')
    const gone = await gateway({ forwarded: { status: 504, reason: 'silence' } }).send('GET', '/cities')
    expect([gone.status, await json(gone)]).toMatchObject([
      504,
      { type: 'Error', message: 'silence', httpStatus: 504 },
    ])
  })
})

describe('the guarded resource', () => {
  const bearer = { headers: { authorization: 'Bearer good' } }

  test('opens to its token, with any method, and tells the backend whose it is', async () => {
    const { send, calls } = gateway()
    const answer = await send('PUT', '/resource/default?v=1&more=2', { ...bearer, body: 'hi' })
    expect([answer.status, await answer.text()]).toEqual([203, 'from the backend'])
    expect(calls).toMatchObject([
      {
        to: { payer: '0x1', planId: 'basic', challengeId: 'http-9', txHash: '0xab' },
        call: { method: 'PUT', path: '/resource/default?v=1&more=2' },
      },
    ])
  })

  test('its answers are kept by no cache, whatever the backend says; those of free routes stay as they are', async () => {
    const caching = { 'cache-control': 'public, max-age=600', 'cdn-cache-control': 'max-age=600', age: '1' }
    const cached = () => gateway({ forwarded: new Response('x', { headers: { ...caching, etag: '"1"' } }) })
    const guarded = await cached().send('GET', '/resource/default?v=1', bearer)
    const free = await cached().send('GET', '/cities')
    const said = ({ headers }: Response) => [...Object.keys(caching), 'etag'].map((name) => headers.get(name))
    expect(said(guarded)).toEqual(['no-store, private', null, null, '"1"'])
    expect(said(free)).toEqual([...Object.values(caching), '"1"'])
  })

  test('says how to get in', async () => {
    const { send, calls } = gateway()
    const none = await send('GET', '/resource/default?v=1')
    expect([none.status, none.headers.get('www-authenticate'), (await json(none)).code]).toEqual([
      401,
      'Bearer realm="https://api.example"',
      'UNAUTHORIZED',
    ])
    const bad = await send('GET', '/resource/default?v=1', { headers: { authorization: 'Bearer bad' } })
    expect(bad.headers.get('www-authenticate')).toContain('error="invalid_token"')
    expect(calls).toEqual([])
  })

  test.each([
    '/resource/other?v=1',
    '/resource/default',
    '/resource/default?v=2',
    '/resource/default?v=1&v=2',
  ])('a token does not open %s, which it was not sold for', async (target) => {
    const { send, calls } = gateway()
    expect((await send('GET', target, bearer)).status).toBe(401)
    expect(calls).toEqual([])
  })

  test.each([
    '/resource/default/below',
    '/resource/x/../default?v=1',
    '/resource/def%61ult?v=1',
    '/resource/',
  ])('%s is not the resource', async (target) => {
    const { raw, calls } = gateway()
    expect([400, 401, 404]).toContain((await raw('GET', target, { authorization: 'Bearer good' })).status)
    expect(calls).toEqual([])
  })
})
