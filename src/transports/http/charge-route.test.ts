import { describe, expect, test, vi } from 'vitest'
import {
  sampleDialects,
  sampleOffer,
  samplePayload,
  samplePaymentHeader,
} from '../../../test/transports/sample-x402.ts'
import type { Intent, Outcome } from '../../engine/outcome.ts'
import { UnavailableError } from '../../errors.ts'
import { decodeJsonObject, encodeJson } from '../../protocol/base64.ts'
import { type ChargeRouteOptions, createChargeRoute } from './charge-route.ts'

const offer = sampleOffer({ kind: 'route', itemId: 'weather', resource: { method: 'GET', path: '/x' } })
const payment = {
  txHash: '0xab',
  explorerUrl: 'https://scan/tx/0xab',
  payer: '0x1',
  amount: '10000',
  network: 'eip155:84532',
  routeId: 'weather',
  challengeId: 'http-1',
  requestId: 'r-1',
}
const settled = { txHash: '0xab', network: 'eip155:84532' }
const receipt = { success: true, transaction: '0xab', network: 'eip155:84532' }
const notice = {
  refund: { state: 'SCHEDULED', when: '2026-11-16T10:00:00.000Z' },
  statusUrl: 'https://api.example/pay/x402/challenges/http-1',
} as const
const paid: Outcome = { kind: 'paid', payment, settled, lease: 3, notice }
const header = samplePaymentHeader({ extra: { challengeId: 'http-1' } })

function charging(answer: Outcome | Error, options: Partial<ChargeRouteOptions> = {}) {
  const intents: Intent[] = []
  const finished: unknown[] = []
  const renewed: unknown[] = []
  const charge = createChargeRoute({
    engine: {
      async purchase(intent) {
        intents.push(intent)
        if (answer instanceof Error) throw answer
        return answer
      },
      finish: async (...args) => void finished.push(args),
      renew: async (...args) => {
        renewed.push(args)
        return renewed.length < 3
      },
    },
    dialects: sampleDialects('https://api.example/pay'),
    leaseMs: 30,
    baseUrl: 'https://api.example/pay',
    discovery: { plans: [], routes: [] },
    ...options,
  })
  const ask = (target: string, headers: Record<string, string> = {}, method = 'GET') =>
    charge(new Request(`http://internal${target}`, { method, headers }), 'weather', { address: '9.9.9.9' })
  return { ask, intents, finished, renewed }
}

async function responseOf(charged: Awaited<ReturnType<ReturnType<typeof charging>['ask']>>) {
  if (charged.kind !== 'respond') throw new Error('expected a response')
  const text = await charged.response.text()
  return { ...charged, body: text === '' ? undefined : JSON.parse(text) }
}

describe('an unpaid call', () => {
  test('gets the 402 of exactly this call, at the address that was called', async () => {
    const { ask, intents } = charging({ kind: 'challenge', offer })
    const { response, body } = await responseOf(await ask('/weather/paris?u=c'))
    expect(response.status).toBe(402)
    expect(body.resource).toMatchObject({ url: 'https://api.example/weather/paris?u=c', method: 'GET' })
    expect(decodeJsonObject(response.headers.get('payment-required')!)).toMatchObject({
      resource: body.resource,
    })
    expect(Object.keys(body.extensions.svc)).toEqual([
      ...['info', 'schema'],
      ...['inputSchema', 'outputSchema', 'description'],
    ])
    expect(intents).toEqual([
      {
        transport: 'http',
        address: '9.9.9.9',
        routeId: 'weather',
        embedded: true,
        url: 'https://api.example/weather/paris?u=c',
        call: { method: 'GET', path: '/weather/paris?u=c', headers: {}, body: null },
      },
    ])
  })

  test('below the base path is sold by its path there', async () => {
    const { ask, intents } = charging({ kind: 'challenge', offer })
    const { body } = await responseOf(await ask('/pay/weather/paris'))
    expect(intents[0]?.call?.path).toBe('/weather/paris')
    expect(body.resource.url).toBe('https://api.example/pay/weather/paris')
  })

  test('by HEAD asks for the terms of GET, and gets them without a body', async () => {
    const { ask, intents } = charging({ kind: 'challenge', offer })
    const { response, body } = await responseOf(await ask('/weather/paris', {}, 'HEAD'))
    expect([response.status, body]).toEqual([402, undefined])
    expect(intents[0]?.call?.method).toBe('GET')
  })

  test('counts against the limit; a header that only pretends to be a payment does, too', async () => {
    const rateLimit = () => ({ ok: false, retryAfterSeconds: 9 }) as const
    const { ask, intents } = charging({ kind: 'challenge', offer }, { rateLimit })
    expect((await responseOf(await ask('/x'))).response.status).toBe(429)
    expect((await responseOf(await ask('/x', { 'payment-signature': 'x' }))).response.status).toBe(429)
    expect(intents).toEqual([])
    await ask('/x', { 'payment-signature': header })
    expect(intents).toHaveLength(1)
  })

  test('a payment of an address whose payments fail too often is refused before it is looked at', async () => {
    const failureLimit = () => ({ ok: false, retryAfterSeconds: 9 }) as const
    const { ask, intents } = charging(paid, { failureLimit })
    const { response, body } = await responseOf(await ask('/x', { 'payment-signature': header }))
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '9'])
    expect(body.message).toContain('failing or repeated payments')
    expect(intents).toEqual([])
  })
})

const RECEIPT_URL = 'https://api.example/pay/receipts/http-1'

describe('a paid call', () => {
  test('hands over the payment, the headers, and a way to say how it ended', async () => {
    const { ask, intents, finished } = charging(paid)
    const charged = await ask('/weather/paris', { 'payment-signature': header, 'idempotency-key': '"k-1"' })
    if (charged.kind !== 'paid') throw new Error('expected paid')
    expect(charged.payment).toEqual(payment)
    expect(charged.headers).toEqual({
      'payment-response': encodeJson(receipt),
      'cache-control': 'no-store, private',
      'x-svc-receipt-url': RECEIPT_URL,
    })
    expect(intents[0]).toMatchObject({
      requestId: 'k-1',
      embedded: true,
      payment: { payer: samplePayload.payload.authorization.from },
    })
    await charged.finish(200)
    await charged.finish(500)
    expect(finished).toEqual([
      ['http-1', 3, { ok: true }],
      ['http-1', 3, { ok: false, reason: 'the handler answered 500' }],
    ])
  })

  const told = {
    'x-svc-code': 'DELIVERY_FAILED',
    'x-svc-refund': 'SCHEDULED',
    'x-svc-refund-when': notice.refund.when,
    'x-svc-status-url': notice.statusUrl,
  }

  async function judged(delivered?: (status: number) => boolean, options: Partial<ChargeRouteOptions> = {}) {
    const route = { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' } as const
    const { ask, finished } = charging(paid, {
      routes: [{ ...route, ...(delivered && { delivered }) }],
      ...options,
    })
    const charged = await ask('/weather/paris', { 'payment-signature': header })
    if (charged.kind !== 'paid') throw new Error('expected paid')
    return async (status: number) => {
      await charged.finish(status)
      const [, , result] = finished.pop() as [string, number, { ok: boolean }]
      const { 'payment-response': settled, 'cache-control': _cache, ...rest } = charged.headersFor(status)
      expect(settled, 'the payment was settled, whatever became of the call').toBe(encodeJson(receipt))
      // What the buyer reads and what is stored agree.
      expect(rest).toEqual({ 'x-svc-receipt-url': RECEIPT_URL, ...(!result.ok && told) })
      return result.ok
    }
  }

  test('is delivered by a 2xx and nothing else, and whatever else it is says that the payment goes back', async () => {
    const delivers = await judged()
    for (const status of [200, 201, 204, 206, 299]) expect(await delivers(status), String(status)).toBe(true)
    for (const status of [101, 300, 302, 304, 400, 401, 402, 404, 429, 500, 503])
      expect(await delivers(status), String(status)).toBe(false)
  })

  test('is delivered by what its route says, and only by a plain yes', async () => {
    const delivers = await judged((status) => status === 404)
    expect([await delivers(404), await delivers(200)]).toEqual([true, false])
    const promised = await judged((async () => true) as never)
    expect(await promised(200)).toBe(false)
  })

  test('is judged as usual where the route’s word throws, and the operator is told', async () => {
    const faults: unknown[] = []
    const broken = () => {
      throw new Error('a bug')
    }
    const delivers = await judged(broken, { onError: (error) => void faults.push(error) })
    expect([await delivers(200), await delivers(404)]).toEqual([true, false])
    expect(faults).not.toEqual([])
  })

  test('by HEAD, with a bad key or a bad header never reaches the engine', async () => {
    const { ask, intents } = charging(paid)
    const head = await responseOf(await ask('/x', { 'payment-signature': header }, 'HEAD'))
    expect(head.response.status).toBe(400)
    const key = await responseOf(await ask('/x', { 'payment-signature': header, 'idempotency-key': 'a b' }))
    expect([key.response.status, key.body.code]).toEqual([400, 'INVALID_REQUEST'])
    const twice = await responseOf(await ask('/x', { 'payment-signature': `${header}, ${header}` }))
    expect(twice.body.message).toContain('more than once')
    expect(intents).toEqual([])
  })

  test('on an engine that throws decides nothing, and says so without our insides', async () => {
    const told: unknown[] = []
    const onError = (error: unknown) => told.push(error)
    const down = charging(new UnavailableError('postgres://u:secret@db'), { onError })
    const answer = await responseOf(await down.ask('/x', { 'payment-signature': header }))
    expect([answer.response.status, answer.body.code]).toEqual([503, 'SETTLEMENT_PENDING'])
    expect(answer.body.statusUrl).toBe('https://api.example/pay/x402/challenges/http-1')
    expect(JSON.stringify(answer.body)).not.toContain('secret')
    expect(told).toHaveLength(1)
  })
})

test('a handler that is slow keeps its lease until it is gone', async () => {
  const { ask, renewed } = charging(paid)
  const charged = await ask('/weather/paris', { 'payment-signature': header })
  expect(charged.kind).toBe('paid')
  await vi.waitUntil(() => renewed.length === 3, { timeout: 60_000 })
  expect(renewed).toEqual([
    ['http-1', 3],
    ['http-1', 3],
    ['http-1', 3],
  ])
})
