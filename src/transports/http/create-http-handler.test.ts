import { describe, expect, test } from 'vitest'
import type { Intent, Outcome } from '../../engine/outcome.ts'
import { GatewayError, UnavailableError } from '../../errors.ts'
import type { ChallengeStatus } from '../../protocol/access.ts'
import { decodeJsonObject, encodeJson } from '../../protocol/base64.ts'
import { ERROR_CODES, type ErrorCode } from '../../protocol/error-codes.ts'
import type { PaymentRequired } from '../../protocol/payment.ts'
import { createHttpHandler, type HttpHandlerOptions } from './create-http-handler.ts'

const baseUrl = 'https://api.example.com'
const hash = `0x${'ab'.repeat(32)}`
const receipt = { success: true, transaction: hash, network: 'eip155:84532', payer: `0x${'11'.repeat(20)}` }
const refused = {
  success: false,
  transaction: '',
  network: 'eip155:84532',
  errorReason: 'insufficient_funds',
}
const grant = {
  type: 'AccessGrant',
  challengeId: 'http-1',
  requestId: 'r-1',
  accessToken: 'token',
  tokenType: 'Bearer',
  resourceEndpoint: `${baseUrl}/data`,
  resourceId: 'default',
  planId: 'basic',
  txHash: hash,
  explorerUrl: `https://sepolia.basescan.org/tx/${hash}`,
} as const
const response = {
  type: 'ResourceResponse',
  challengeId: 'http-1',
  requestId: 'r-1',
  routeId: 'quote',
  txHash: hash,
  explorerUrl: `https://sepolia.basescan.org/tx/${hash}`,
  resource: { status: 200, body: { price: 1 } },
} as const

function requiredFor(subject: { planId: string } | { routeId: string }): PaymentRequired {
  return {
    x402Version: 2,
    error: 'Payment required',
    resource: {
      url: `${baseUrl}/x402/access`,
      method: 'POST',
      description: 'Caffè – 1 €',
      mimeType: 'application/json',
    },
    accepts: [
      {
        scheme: 'exact',
        network: 'eip155:84532',
        asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
        amount: '1000000',
        payTo: `0x${'22'.repeat(20)}`,
        maxTimeoutSeconds: 900,
        extra: {
          name: 'USDC',
          version: '2',
          description: '',
          challengeId: 'http-1',
          requestId: 'r-1',
          salt: 's',
          ...subject,
        },
      },
    ],
    challengeId: 'http-1',
    requestId: 'r-1',
  }
}
const challenge: Outcome = { kind: 'challenge', required: requiredFor({ planId: 'basic' }) }

interface Script {
  answer?: Outcome | Error
  status?: ChallengeStatus | Error
}

function gateway(script: Script = {}, options: Partial<HttpHandlerOptions> = {}) {
  const intents: Intent[] = []
  const errors: unknown[] = []
  const handler = createHttpHandler({
    engine: {
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
    discovery: {
      agentName: 'Demo',
      description: 'demo',
      walletAddress: `0x${'22'.repeat(20)}`,
      network: 'eip155:84532',
      chainId: 84532,
      asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
      plans: [{ planId: 'basic', unitAmount: '$1.00' }],
      routes: [],
    },
    baseUrl,
    version: '1.2.3',
    networkId: 'eip155:84532',
    storeName: 'memory',
    limits: { maxBodyBytes: 1000, requestTimeoutMs: 1000 },
    uptimeSeconds: () => 7,
    ready: async () => ({ ok: true, checks: { store: 'ok' } }),
    onError: (error) => errors.push(error),
    ...options,
  })
  const call = (method: string, path: string, init: RequestInit = {}, peer?: { address?: string }) =>
    handler(new Request(new URL(path, 'http://internal').href, { method, ...init }), peer)
  const buy = (body: unknown, headers: Record<string, string> = {}) =>
    call('POST', '/x402/access', { headers, body: typeof body === 'string' ? body : JSON.stringify(body) })
  return { handler, call, buy, intents, errors }
}

const payload = {
  x402Version: 2,
  payload: {
    signature: `0x${'AB'.repeat(65)}`,
    authorization: {
      from: `0x${'11'.repeat(20)}`,
      to: `0x${'22'.repeat(20)}`,
      value: '1000000',
      validAfter: '0',
      validBefore: '1900000000',
      nonce: `0x${'CD'.repeat(32)}`,
    },
  },
  accepted: requiredFor({ planId: 'basic' }).accepts[0],
}
const paying = (value: unknown = payload) => ({ 'payment-signature': encodeJson(value) })
const json = async (answer: Response) => (await answer.json()) as Record<string, unknown>

describe('the 402', () => {
  test('the header is the whole offer in base64, and the body adds the schemas', async () => {
    const { buy } = gateway()
    const answer = await buy({ planId: 'basic' })
    expect(answer.status).toBe(402)
    expect(decodeJsonObject(answer.headers.get('payment-required')!)).toEqual(
      requiredFor({ planId: 'basic' }),
    )
    const { extensions, ...rest } = await json(answer)
    expect(rest).toEqual(requiredFor({ planId: 'basic' }))
    expect(extensions).toMatchObject({
      svc: {
        inputSchema: {
          type: 'object',
          required: ['planId'],
          properties: { planId: { type: 'string' }, requestId: {}, resourceId: { default: 'default' } },
        },
        outputSchema: { properties: { accessToken: {}, type: { const: 'AccessGrant' } } },
        description: expect.stringContaining('payment-signature'),
      },
    })
    expect(answer.headers.get('www-authenticate')).toBe(
      'Payment realm="https://api.example.com", accept="exact", challenge="http-1"',
    )
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('x-svc-code')).toBeNull()
  })

  test('of a route asks for routeId and resource and promises a ResourceResponse', async () => {
    const { buy } = gateway({ answer: { kind: 'challenge', required: requiredFor({ routeId: 'quote' }) } })
    const answer = await buy({ routeId: 'quote', resource: { method: 'get', path: '/quote/1' } })
    expect(await json(answer)).toMatchObject({
      extensions: {
        svc: {
          inputSchema: { required: expect.arrayContaining(['routeId', 'resource']) },
          outputSchema: { properties: { type: { const: 'ResourceResponse' } } },
        },
      },
    })
  })
})

describe('what the engine is asked', () => {
  test('every field of the body arrives', async () => {
    const { buy, intents } = gateway()
    const resource = { method: 'post', path: '/a?b=1', body: { c: 1 } }
    await buy({
      routeId: 'quote',
      requestId: 'r',
      resourceId: 'x',
      resource,
      clientAgentId: 'agent://1',
      other: 1,
    })
    expect(intents).toEqual([
      {
        transport: 'http',
        routeId: 'quote',
        requestId: 'r',
        resourceId: 'x',
        resource: { ...resource, method: 'POST' },
        clientAgentId: 'agent://1',
      },
    ])
  })

  test.each(['base64', 'base64url'] as const)(
    'an empty body with a %s payment takes all ids from its echo',
    async (encoding) => {
      const { call, intents } = gateway()
      const header = Buffer.from(JSON.stringify(payload)).toString(encoding)
      await call('POST', '/x402/access', { headers: { 'PAYMENT-SIGNATURE': header } })
      expect(intents).toEqual([
        expect.objectContaining({
          transport: 'http',
          planId: 'basic',
          challengeId: 'http-1',
          requestId: 'r-1',
        }),
      ])
      expect(intents[0]!.payment!.payload.signature).toBe(`0x${'ab'.repeat(65)}`)
      expect(intents[0]!.payment!.payload.authorization.nonce).toBe(`0x${'cd'.repeat(32)}`)
    },
  )

  test('where body and echo differ the body is passed on with the echo, for the engine to judge', async () => {
    const { buy, intents } = gateway()
    await buy({ routeId: 'quote', requestId: 'mine' }, paying())
    expect(intents[0]).toMatchObject({ routeId: 'quote', requestId: 'mine', challengeId: 'http-1' })
    expect(intents[0]).not.toHaveProperty('planId')
    expect(intents[0]!.payment!.accepted!.extra!.planId).toBe('basic')
  })

  test('Idempotency-Key is another name of requestId, quoted or not', async () => {
    const { buy, intents } = gateway()
    await buy({ planId: 'basic' }, { 'idempotency-key': 'k-1' })
    await buy({ planId: 'basic', requestId: 'k-1' }, { 'idempotency-key': '"k-1"' })
    expect(intents.map((intent) => intent.requestId)).toEqual(['k-1', 'k-1'])
  })

  test('x-payment is no payment', async () => {
    const { buy, intents } = gateway()
    await buy({ planId: 'basic' }, { 'x-payment': encodeJson(payload) })
    expect(intents[0]).not.toHaveProperty('payment')
  })
})

describe('requests that never reach the engine', () => {
  const cases: Array<[string, unknown, Record<string, string>, RegExp]> = [
    ['invalid JSON', '{"planId":', {}, /not valid JSON/],
    ['an array', '[1]', {}, /is an array/],
    ['a number for planId', { planId: 7 }, {}, /planId: expected string, received number/],
    [
      'a requestId with blanks',
      { planId: 'a', requestId: 'a b' },
      {},
      /requestId must be 1 to 128 characters/,
    ],
    [
      'an unknown method',
      { routeId: 'a', resource: { method: 'BREW', path: '/' } },
      {},
      /resource\.method: expected one of/,
    ],
    [
      'a resource without path',
      { routeId: 'a', resource: { method: 'GET' } },
      {},
      /resource\.path is missing; expected string/,
    ],
    ['planId and routeId', { planId: 'a', routeId: 'b' }, {}, /planId and routeId/],
    [
      'planId and routeId in the echo',
      '',
      paying({ ...payload, accepted: { extra: { planId: 'a', routeId: 'b' } } }),
      /planId and routeId/,
    ],
    [
      'two different request ids',
      { planId: 'a', requestId: 'x' },
      { 'idempotency-key': 'y' },
      /Idempotency-Key/,
    ],
    [
      'a malformed Idempotency-Key',
      { planId: 'a' },
      { 'idempotency-key': 'a b' },
      /Idempotency-Key header must be/,
    ],
    [
      'no base64',
      { planId: 'a' },
      { 'payment-signature': '{}' },
      /payment-signature header is not the base64/,
    ],
    [
      'an empty payment',
      { planId: 'a' },
      { 'payment-signature': '' },
      /payment-signature header is not the base64/,
    ],
    [
      'the payment twice',
      { planId: 'a' },
      { 'payment-signature': `${encodeJson(payload)}, ${encodeJson(payload)}` },
      /more than once/,
    ],
    [
      '9 KiB',
      { planId: 'a' },
      paying({ ...payload, pad: 'x'.repeat(9000) }),
      /decodes to \d+ bytes; at most 8192/,
    ],
    ['version 1', { planId: 'a' }, paying({ ...payload, x402Version: 1 }), /x402Version must be 2/],
    [
      'no signature',
      { planId: 'a' },
      paying({ ...payload, payload: { authorization: payload.payload.authorization } }),
      /payload\.signature is missing; expected string/,
    ],
  ]
  test.each(cases)('%s is 400 and says what is wrong', async (_name, body, headers, message) => {
    const { buy, intents } = gateway()
    const answer = await buy(body, headers)
    expect(answer.status).toBe(400)
    expect(answer.headers.get('x-svc-code')).toBe('INVALID_REQUEST')
    expect(await json(answer)).toMatchObject({
      type: 'Error',
      code: 'INVALID_REQUEST',
      httpStatus: 400,
      message: expect.stringMatching(message),
    })
    expect(intents).toEqual([])
  })

  test.each(['1e6', '0x10', '-1', ' 1', '', '01', '1'.repeat(80)])(
    'attack 24: value %j is 400',
    async (value) => {
      const { buy, intents } = gateway()
      const authorization = { ...payload.payload.authorization, value }
      const answer = await buy(
        { planId: 'basic' },
        paying({ ...payload, payload: { ...payload.payload, authorization } }),
      )
      expect(answer.status).toBe(400)
      const { message } = await json(answer)
      expect(message).toContain('payload.authorization.value')
      if (value.trim().length > 2) expect(message).not.toContain(value)
      expect(intents).toEqual([])
    },
  )

  test.each(['{}', '', '{"requestId":"r"}', '{"challengeId":"http-1"}'])(
    '%j, which asks for nothing, gets only the way to the catalog',
    async (body) => {
      const { buy, intents } = gateway()
      const answer = await buy(body)
      expect(answer.status).toBe(400)
      expect(await json(answer)).toEqual({
        error: expect.stringContaining('GET https://api.example.com/discover'),
      })
      expect(intents).toEqual([])
    },
  )

  test('a body over the limit is 413, declared or not', async () => {
    const { buy, call, intents } = gateway()
    expect((await buy({ planId: 'a', clientAgentId: 'x'.repeat(2000) })).status).toBe(413)
    const stream = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(400)) })
    const endless = await call('POST', '/x402/access', { body: stream, duplex: 'half' })
    expect(endless.status).toBe(413)
    expect(await json(endless)).toMatchObject({ code: 'BODY_TOO_LARGE', httpStatus: 413 })
    expect(intents).toEqual([])
  })

  test('a body that never comes is 408', async () => {
    const { call, intents } = gateway({}, { limits: { maxBodyBytes: 1000, requestTimeoutMs: 20 } })
    const answer = await call('POST', '/x402/access', { body: new ReadableStream(), duplex: 'half' })
    expect(answer.status).toBe(408)
    expect(await json(answer)).toMatchObject({ type: 'Error', httpStatus: 408 })
    expect(intents).toEqual([])
  })
})

describe('outcomes', () => {
  test('attack 31: a grant is for its buyer alone, with a receipt', async () => {
    const { buy } = gateway({ answer: { kind: 'granted', grant, receipt, cached: false } })
    const answer = await buy({ planId: 'basic' }, paying())
    expect(answer.status).toBe(200)
    expect(await json(answer)).toEqual(grant)
    expect(decodeJsonObject(answer.headers.get('payment-response')!)).toEqual(receipt)
    expect(answer.headers.get('cache-control')).toBe('no-store, private')
    expect(answer.headers.get('x-svc-code')).toBeNull()
  })

  test('a cached grant is the same body and says so', async () => {
    const { buy } = gateway({ answer: { kind: 'granted', grant, receipt, cached: true } })
    const answer = await buy({ planId: 'basic' }, paying())
    expect(answer.status).toBe(200)
    expect(await json(answer)).toEqual(grant)
    expect(answer.headers.get('x-svc-code')).toBe('PROOF_ALREADY_REDEEMED')
    expect(answer.headers.has('payment-response')).toBe(true)
  })

  test('a resource and an embedded payment carry their receipts', async () => {
    const resource = await gateway({ answer: { kind: 'resource', response, receipt, cached: false } }).buy(
      { routeId: 'quote' },
      paying(),
    )
    expect(await json(resource)).toEqual(response)
    const payment = {
      txHash: hash,
      explorerUrl: '',
      payer: receipt.payer,
      amount: '1',
      network: receipt.network,
      challengeId: 'http-1',
      requestId: 'r-1',
    }
    const embedded = await gateway({ answer: { kind: 'paid', payment, receipt } }).buy(
      { routeId: 'quote' },
      paying(),
    )
    expect(await json(embedded)).toEqual(payment)
    for (const answer of [resource, embedded]) {
      expect(answer.headers.get('cache-control')).toBe('no-store, private')
      expect(decodeJsonObject(answer.headers.get('payment-response')!)).toEqual(receipt)
    }
  })

  test.each(Object.keys(ERROR_CODES) as ErrorCode[])(
    '%s has the status of the table, its code as header, and is never cached',
    async (code) => {
      const { buy } = gateway({ answer: { kind: 'failed', error: new GatewayError(code, 'because') } })
      const answer = await buy({ planId: 'basic' }, paying())
      expect(answer.status).toBe(ERROR_CODES[code].httpStatus)
      expect(answer.headers.get('x-svc-code')).toBe(code)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.get('retry-after')).toBe(
        ['SETTLEMENT_PENDING', 'RATE_LIMITED'].includes(code) ? '5' : null,
      )
      expect(await json(answer)).toMatchObject({
        type: 'Error',
        code,
        message: 'because',
        httpStatus: answer.status,
      })
    },
  )

  test('a failed payment brings its receipt and a fresh offer in headers', async () => {
    const required = requiredFor({ planId: 'basic' })
    const { buy } = gateway({
      answer: {
        kind: 'failed',
        error: new GatewayError('PAYMENT_FAILED', 'no balance'),
        required,
        receipt: refused,
      },
    })
    const answer = await buy({ planId: 'basic' }, paying())
    expect(answer.status).toBe(402)
    expect(decodeJsonObject(answer.headers.get('payment-required')!)).toEqual(required)
    expect(decodeJsonObject(answer.headers.get('payment-response')!)).toEqual(refused)
    expect(answer.headers.get('www-authenticate')).toContain('challenge="http-1"')
    expect(answer.headers.get('cache-control')).toBe('no-store, private')
    expect(await json(answer)).toMatchObject({ code: 'PAYMENT_FAILED' })
  })

  test('an unknown outcome names when to come back and where to look', async () => {
    const error = new GatewayError('SETTLEMENT_PENDING', 'wait', {
      challengeId: 'http-1',
      retryAfterSeconds: 2.5,
    })
    const answer = await gateway({ answer: { kind: 'failed', error } }).buy({ planId: 'basic' }, paying())
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('3')
    expect(await json(answer)).toMatchObject({
      statusUrl: 'https://api.example.com/x402/challenges/http-1',
      retryAfterSeconds: 2.5,
      retryable: true,
    })
  })

  test('a store that cannot be asked is 503 and decides nothing', async () => {
    const { buy, errors } = gateway({ answer: new UnavailableError('postgres://user:secret@db') })
    const answer = await buy({ planId: 'basic' }, paying())
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('5')
    const body = await json(answer)
    expect(body).toMatchObject({
      code: 'SETTLEMENT_PENDING',
      retryable: true,
      message: expect.stringContaining('same request again'),
    })
    expect(JSON.stringify(body)).not.toContain('secret')
    expect(errors).toHaveLength(1)
  })

  test('an unexpected fault is 500 and tells the buyer nothing of our insides', async () => {
    const fault = new TypeError('cannot read /etc/keys')
    const { buy, errors } = gateway({ answer: fault })
    const answer = await buy({ planId: 'basic' }, paying())
    expect(answer.status).toBe(500)
    expect(await answer.text()).not.toContain('keys')
    expect(errors).toEqual([fault])
  })

  test('a log that throws does not change the answer', async () => {
    const onError = () => {
      throw new Error('disk full')
    }
    const answer = await gateway({ answer: new Error('x') }, { onError }).buy({ planId: 'basic' })
    expect(answer.status).toBe(500)
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
    const down = await gateway(
      {},
      { ready: async () => ({ ok: false, checks: { rpc: 'unreachable' } }) },
    ).call('GET', '/ready')
    expect([down.status, await json(down)]).toEqual([
      503,
      { status: 'not-ready', checks: { rpc: 'unreachable' } },
    ])
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

  test('an unknown path is 404 and lists the endpoints; what is switched off is not among them', async () => {
    const answer = await gateway().call('GET', '/constructor')
    expect(answer.status).toBe(404)
    expect(await json(answer)).toMatchObject({
      type: 'Error',
      httpStatus: 404,
      endpoints: [
        'GET /discover',
        'POST /x402/access',
        'GET /health',
        'GET /ready',
        'GET /x402/challenges/:challengeId',
      ],
    })
  })

  test.each([
    ['GET', '/x402/access', 'POST, OPTIONS'],
    ['HEAD', '/x402/access', 'POST, OPTIONS'],
    ['POST', '/discover', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/x402/challenges/http-1', 'GET, HEAD, OPTIONS'],
  ])('%s %s is 405 and allows %s', async (method, path, allow) => {
    const answer = await gateway().call(method, path)
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow])
  })

  test('HEAD is GET without the body', async () => {
    const { call } = gateway()
    const [head, get] = [await call('HEAD', '/discover'), await call('GET', '/discover')]
    expect(head.status).toBe(200)
    expect(await head.text()).toBe('')
    expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'))
  })

  test('under a base path only that path answers', async () => {
    const { call } = gateway(
      { answer: new UnavailableError('x') },
      { baseUrl: 'https://example.com/pay/v1/' },
    )
    expect((await call('GET', '/pay/v1/discover')).status).toBe(200)
    for (const path of ['/discover', '/pay/v1', '/pay/v12/discover'])
      expect((await call('GET', path)).status).toBe(404)
    const body = JSON.stringify({ planId: 'basic' })
    const answer = await call('POST', '/pay/v1/x402/access', { body, headers: paying() })
    expect(await json(answer)).toMatchObject({
      statusUrl: 'https://example.com/pay/v1/x402/challenges/http-1',
    })
  })
})

describe('CORS', () => {
  test('any page may read every answer, without credentials', async () => {
    const { call, buy } = gateway()
    for (const answer of [
      await call('GET', '/discover'),
      await buy({ planId: 'a' }),
      await buy('['),
      await call('GET', '/x'),
    ]) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      expect(answer.headers.get('access-control-expose-headers')).toBe(
        'PAYMENT-REQUIRED, PAYMENT-RESPONSE, WWW-Authenticate, Retry-After, x-svc-code',
      )
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false)
    }
  })

  test('a preflight allows what buyers send', async () => {
    const answer = await gateway().call('OPTIONS', '/x402/access')
    expect(answer.status).toBe(204)
    const allowed = answer.headers.get('access-control-allow-headers')!.toLowerCase().split(', ')
    expect(allowed).toEqual(
      expect.arrayContaining([
        'payment-signature',
        'authorization',
        'content-type',
        'idempotency-key',
        'access-control-expose-headers',
        'x-a2a-extensions',
        'mcp-session-id',
      ]),
    )
  })
})

describe('the rate limit', () => {
  const limited = {
    rateLimit: (address: string) =>
      address === '9.9.9.9' ? ({ ok: false, retryAfterSeconds: 12 } as const) : ({ ok: true } as const),
  }
  const body = JSON.stringify({ planId: 'basic' })

  test('stops unpaid requests of that address and says for how long', async () => {
    const { call, intents } = gateway({}, limited)
    const answer = await call('POST', '/x402/access', { body }, { address: '9.9.9.9' })
    expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('x-svc-code')]).toEqual([
      429,
      '12',
      'RATE_LIMITED',
    ])
    expect(intents).toEqual([])
    expect((await call('GET', '/x402/challenges/http-1', {}, { address: '9.9.9.9' })).status).toBe(429)
    expect((await call('POST', '/x402/access', { body }, { address: '1.1.1.1' })).status).toBe(402)
    expect((await call('POST', '/x402/access', { body })).status).toBe(402)
  })

  test('lets payments pass, but not a header that only pretends to be one', async () => {
    const { call, intents } = gateway({}, limited)
    await call('POST', '/x402/access', { body, headers: paying() }, { address: '9.9.9.9' })
    expect(intents).toHaveLength(1)
    const fake = await call(
      'POST',
      '/x402/access',
      { body, headers: { 'payment-signature': 'x' } },
      { address: '9.9.9.9' },
    )
    expect(fake.status).toBe(429)
  })
})
