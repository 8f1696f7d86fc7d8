import { describe, expect, test } from 'vitest'
import { sampleDialects, sampleOffer, samplePaymentHeader } from '../../../test/transports/sample-x402.ts'
import type { Intent, Outcome } from '../../engine/outcome.ts'
import { UnavailableError } from '../../errors.ts'
import type { ChallengeStatus } from '../../protocol/access.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import { createHttpHandler, type HttpHandlerOptions } from './create-http-handler.ts'

const challenge: Outcome = { kind: 'challenge', offer: sampleOffer() }

const discovery: DiscoveryCatalog = {
  agentName: 'Demo',
  description: 'demo',
  walletAddress: `0x${'22'.repeat(20)}`,
  network: 'eip155:84532',
  chainId: 84532,
  asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
  plans: [{ planId: 'basic', unitAmount: '$1.00' }],
  routes: [],
}

interface Script {
  answer?: Outcome | Error
  status?: ChallengeStatus | Error
}

/** A handler over an engine that answers as it is told. */
function gateway(script: Script = {}, options: Partial<HttpHandlerOptions> = {}) {
  const intents: Intent[] = []
  const errors: unknown[] = []
  const { fetch, handle } = createHttpHandler({
    engine: {
      offer: () => undefined,
      async purchase(intent) {
        intents.push(intent)
        const answer = script.answer ?? challenge
        if (answer instanceof Error) throw answer
        return answer
      },
      async status() {
        if (script.status instanceof Error) throw script.status
        return script.status
      },
    },
    dialects: sampleDialects('https://api.example.com'),
    discovery,
    baseUrl: 'https://api.example.com',
    version: '1.2.3',
    networkIds: ['eip155:84532'],
    storeName: 'memory',
    limits: { maxBodyBytes: 1000, requestTimeoutMs: 1000 },
    uptimeSeconds: () => 7,
    ready: async () => ({ ok: true, checks: { store: 'ok' } }),
    onError: (error) => errors.push(error),
    ...options,
  })
  const call = (method: string, path: string, init: RequestInit = {}, peer?: { address?: string }) =>
    fetch(new Request(new URL(path, 'http://internal').href, { method, ...init }), peer)
  const buy = (body: string, headers: Record<string, string> = {}) =>
    call('POST', '/x402/access', { headers, body })
  return { call, buy, handle, intents, errors }
}

const plan = JSON.stringify({ planId: 'basic' })
const paying = { 'payment-signature': samplePaymentHeader({ extra: { challengeId: 'http-1' } }) }
const json = async (answer: Response) => (await answer.json()) as Record<string, unknown>

describe('POST /x402/access', () => {
  test('asks the engine and renders its outcome', async () => {
    const { buy, intents } = gateway()
    expect((await buy(plan)).status).toBe(402)
    expect(intents).toEqual([{ transport: 'http', planId: 'basic' }])
  })

  test('without a plan gets one field, which points to the catalog', async () => {
    const { buy, intents } = gateway()
    const answer = await buy('{}')
    expect(answer.status).toBe(400)
    expect(await json(answer)).toEqual({
      error: expect.stringContaining('GET https://api.example.com/discover'),
    })
    expect(intents).toEqual([])
  })

  test('what cannot be decoded never reaches the engine', async () => {
    const { buy, intents } = gateway()
    expect((await buy('[')).status).toBe(400)
    expect((await buy(plan, { 'payment-signature': 'x' })).status).toBe(400)
    expect((await buy(`"${'x'.repeat(2000)}"`)).status).toBe(413)
    const late = gateway({}, { limits: { maxBodyBytes: 1000, requestTimeoutMs: 20 } })
    const answer = await late.call('POST', '/x402/access', { body: new ReadableStream(), duplex: 'half' })
    expect([answer.status, (await json(answer)).httpStatus]).toEqual([408, 408])
    expect((await buy(' ')).status).toBe(400)
    expect([...intents, ...late.intents]).toEqual([])
  })

  test('without a single byte it is asked for the cheapest plan, the first of those', async () => {
    const plans = ['$2.00', '$0.5', '$0.50', '$1.00'].map((unitAmount, index) => ({
      planId: `p${index}`,
      unitAmount,
    }))
    const { call, buy, intents } = gateway({}, { discovery: { ...discovery, plans } })
    expect((await call('POST', '/x402/access')).status).toBe(402)
    expect((await buy('', { 'idempotency-key': 'probe-1' })).status).toBe(402)
    expect(intents).toEqual([
      { transport: 'http', planId: 'p1' },
      { transport: 'http', planId: 'p1', requestId: 'probe-1' },
    ])
    expect((await buy('', { 'idempotency-key': 'a b' })).status).toBe(400)
    // A payment says what it buys, or it is not known.
    const echo = { planId: 'p3', challengeId: 'http-1', salt: 's' }
    await buy('', { 'payment-signature': samplePaymentHeader({ extra: echo }) })
    expect(intents.at(-1)).toMatchObject({ planId: 'p3', challengeId: 'http-1' })
    expect((await buy('', { 'payment-signature': samplePaymentHeader() })).status).toBe(400)
    expect(intents).toHaveLength(3)
  })

  test('without a single byte and without a plan for sale it is told what to name', async () => {
    const routes: DiscoveryCatalog['routes'] = [
      { routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' },
    ]
    const { call, intents } = gateway({}, { discovery: { ...discovery, plans: [], routes } })
    const answer = await call('POST', '/x402/access')
    expect([answer.status, Object.keys(await json(answer))]).toEqual([400, ['error']])
    expect(intents).toEqual([])
  })

  test('a store that cannot be asked is 503, decides nothing and leaks nothing', async () => {
    const { buy, errors } = gateway({ answer: new UnavailableError('postgres://user:secret@db') })
    const answer = await buy(plan, paying)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    const body = await json(answer)
    expect(body).toMatchObject({
      code: 'SETTLEMENT_PENDING',
      retryable: true,
      message: expect.stringContaining('same request again'),
      statusUrl: 'https://api.example.com/x402/challenges/http-1',
    })
    expect(JSON.stringify(body)).not.toContain('secret')
    expect(errors).toHaveLength(1)
  })

  test('an unexpected fault is 500 and tells the buyer nothing of our insides', async () => {
    const fault = new TypeError('cannot read /etc/keys')
    const { buy, errors } = gateway({ answer: fault })
    const answer = await buy(plan, paying)
    expect(answer.status).toBe(500)
    expect(await answer.text()).not.toContain('keys')
    expect(errors).toEqual([fault])
  })

  test('a log that throws does not change the answer', async () => {
    const onError = () => {
      throw new Error('disk full')
    }
    expect((await gateway({ answer: new Error('x') }, { onError }).buy(plan)).status).toBe(500)
  })
})

describe('the other endpoints', () => {
  test('discover, health and ready answer without the engine', async () => {
    const { call, intents } = gateway()
    expect(await json(await call('GET', '/discover'))).toMatchObject({
      agentName: 'Demo',
      chainId: 84532,
      routes: [],
    })
    expect(await json(await call('GET', '/health'))).toEqual({
      status: 'ok',
      version: '1.2.3',
      network: 'eip155:84532',
      store: 'memory',
      uptimeSeconds: 7,
    })
    const ready = await call('GET', '/ready')
    expect([ready.status, await json(ready)]).toEqual([200, { status: 'ready', checks: { store: 'ok' } }])
    expect(intents).toEqual([])
  })

  test('not ready is 503, also when the check itself fails', async () => {
    const checks = { rpc: 'unreachable' }
    const down = await gateway({}, { ready: async () => ({ ok: false, checks }) }).call('GET', '/ready')
    expect([down.status, await json(down)]).toEqual([503, { status: 'not-ready', checks }])
    const broken = gateway({}, { ready: () => Promise.reject(new Error('secret')) })
    const answer = await broken.call('GET', '/ready')
    expect(answer.status).toBe(503)
    expect(await answer.text()).not.toContain('secret')
    expect(broken.errors).toHaveLength(1)
  })

  test('a challenge shows its state, an unknown id is 404, a silent store 503', async () => {
    const status: ChallengeStatus = {
      challengeId: 'http-1',
      state: 'PAID',
      expiresAt: '2030-01-01T00:00:00Z',
    }
    const found = await gateway({ status }).call('GET', '/x402/challenges/http-1')
    expect([found.status, await json(found)]).toEqual([200, status])
    expect(found.headers.get('cache-control')).toBe('no-store')
    const missing = await gateway().call('GET', '/x402/challenges/http-2')
    expect([missing.status, missing.headers.get('x-svc-code')]).toEqual([404, 'CHALLENGE_NOT_FOUND'])
    const silent = await gateway({ status: new UnavailableError('store') }).call(
      'GET',
      '/x402/challenges/http-2',
    )
    expect(silent.status).toBe(503)
  })

  test('keys are published only where there are some', async () => {
    expect((await gateway().call('GET', '/.well-known/jwks.json')).status).toBe(404)
    const answer = await gateway({}, { jwks: { keys: [] } }).call('GET', '/.well-known/jwks.json')
    expect(await json(answer)).toEqual({ keys: [] })
  })

  test('an unknown path is 404 and lists the endpoints, without those switched off', async () => {
    const answer = await gateway().call('GET', '/constructor')
    expect(answer.status).toBe(404)
    const { endpoints, ...body } = await json(answer)
    expect(body).toMatchObject({ type: 'Error', code: 'INVALID_REQUEST', httpStatus: 404 })
    expect(endpoints).toEqual([
      'GET /discover',
      'POST /x402/access',
      'GET /health',
      'GET /ready',
      'GET /x402/challenges/:challengeId',
    ])
  })

  test('on a shared host, paths that are not its own stay unanswered', async () => {
    const { handle } = gateway()
    const ask = async (path: string, method = 'GET') =>
      (await handle(new Request(`https://api.example.com${path}`, { method })))?.status
    for (const path of [
      '/',
      '/constructor',
      '/discover/more',
      '/robots.txt',
      '/robots.txt?a',
      '/favicon.ico',
    ])
      expect([await ask(path), await ask(path, 'OPTIONS')]).toEqual([undefined, undefined])
    expect([await ask('/discover'), await ask('/x402/access', 'OPTIONS')]).toEqual([200, 204])
    expect([await ask('/x402/access'), await ask('/x402/challenges/http-1')]).toEqual([405, 404])
  })

  test.each([
    ['GET', '/x402/access', 'POST, OPTIONS'],
    ['POST', '/discover', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/x402/challenges/http-1', 'GET, HEAD, OPTIONS'],
    ['constructor', '/discover', 'GET, HEAD, OPTIONS'],
  ])('%s %s is 405 and allows %s', async (method, path, allow) => {
    const answer = await gateway().call(method, path)
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow])
  })

  test('HEAD is GET without the body', async () => {
    const { call } = gateway()
    const [head, get] = [await call('HEAD', '/discover'), await call('GET', '/discover')]
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect([...head.headers]).toEqual([...get.headers])
  })

  test('under a base path only that path answers', async () => {
    const options = { baseUrl: 'https://example.com/pay/v1/' }
    const { call } = gateway({ answer: new UnavailableError('x') }, options)
    expect((await call('GET', '/pay/v1/discover')).status).toBe(200)
    for (const path of ['/discover', '/pay/v1', '/pay/v12/discover']) {
      expect((await call('GET', path)).status).toBe(404)
    }
    const answer = await call('POST', '/pay/v1/x402/access', { body: plan, headers: paying })
    expect(await json(answer)).toMatchObject({
      statusUrl: 'https://example.com/pay/v1/x402/challenges/http-1',
    })
  })
})

describe('CORS', () => {
  test('any page may read every answer, without credentials', async () => {
    const { call, buy } = gateway()
    const answers = [await call('GET', '/discover'), await buy(plan), await buy('['), await call('GET', '/x')]
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('access-control-expose-headers')?.split(', ')).toEqual(
        expect.arrayContaining([
          'PAYMENT-REQUIRED',
          'Retry-After',
          'x-svc-refund',
          'x-svc-credits-remaining',
        ]),
      )
      expect(headers.has('access-control-allow-credentials')).toBe(false)
    }
  })

  test('a preflight allows what buyers send', async () => {
    const answer = await gateway().call('OPTIONS', '/x402/access')
    expect(answer.status).toBe(204)
    const allowed = answer.headers.get('access-control-allow-headers')!.toLowerCase().split(', ')
    const needed = ['payment-signature', 'authorization', 'content-type', 'idempotency-key', 'mcp-session-id']
    expect(allowed).toEqual(
      expect.arrayContaining([...needed, 'x-a2a-extensions', 'access-control-expose-headers']),
    )
  })
})

describe('the rate limit', () => {
  const rateLimit = (address: string) =>
    address === '9.9.9.9' ? ({ ok: false, retryAfterSeconds: 12 } as const) : ({ ok: true } as const)
  const full = { address: '9.9.9.9' }

  test('stops unpaid requests of that address and says for how long', async () => {
    const { call, intents } = gateway({}, { rateLimit })
    const answer = await call('POST', '/x402/access', { body: plan }, full)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '12'])
    expect(answer.headers.get('x-svc-code')).toBe('RATE_LIMITED')
    expect(intents).toEqual([])
    expect((await call('GET', '/x402/challenges/http-1', {}, full)).status).toBe(429)
    expect((await call('POST', '/x402/access', { body: plan }, { address: '1.1.1.1' })).status).toBe(402)
    expect((await call('POST', '/x402/access', { body: plan })).status).toBe(402)
  })

  test('lets payments pass, but not a header that only pretends to be one', async () => {
    const { call, intents } = gateway({}, { rateLimit })
    await call('POST', '/x402/access', { body: plan, headers: paying }, full)
    expect(intents).toHaveLength(1)
    const headers = { 'payment-signature': 'x' }
    expect((await call('POST', '/x402/access', { body: plan, headers }, full)).status).toBe(429)
  })
})

test('with several networks the catalog, health and readiness say how they stand', async () => {
  const ids = ['eip155:8453', 'eip155:137']
  const withdrawn = [{ network: 'eip155:137', reason: 'no gas', since: '2030-01-01T00:00:00.000Z' }]
  let catalog = { agentName: 'Demo' } as DiscoveryCatalog
  const { call } = gateway(
    {},
    {
      networkIds: ids,
      catalogNow: () => catalog,
      ready: async () => ({ ok: true, checks: { 'chain eip155:8453': 'ok' }, withdrawn }),
    },
  )
  expect(await json(await call('GET', '/discover'))).toEqual({ agentName: 'Demo' })
  catalog = { agentName: 'Changed' } as DiscoveryCatalog
  expect(await json(await call('GET', '/discover'))).toEqual({ agentName: 'Changed' })
  expect(await json(await call('GET', '/health'))).toMatchObject({ network: 'eip155:8453', networks: ids })
  expect(await json(await call('GET', '/ready'))).toEqual({
    ...{ status: 'ready', checks: { 'chain eip155:8453': 'ok' }, withdrawn },
  })
})
