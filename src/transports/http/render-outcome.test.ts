import { describe, expect, test } from 'vitest'
import { sampleDialects, sampleOffer } from '../../../test/transports/sample-x402.ts'
import { GatewayError } from '../../errors.ts'
import { decodeJsonObject } from '../../protocol/base64.ts'
import { ERROR_CODES, type ErrorCode } from '../../protocol/error-codes.ts'
import { createOutcomeRenderer } from './render-outcome.ts'
import type { Reply } from './reply.ts'

const baseUrl = 'https://api.example.com'
const dialects = sampleDialects(baseUrl)
const { x402 } = dialects
const render = createOutcomeRenderer(dialects, baseUrl)
const txHash = `0x${'ab'.repeat(32)}`
const explorerUrl = `https://sepolia.basescan.org/tx/${txHash}`
const network = 'eip155:84532'
const payer = `0x${'11'.repeat(20)}` as const
const settled = { txHash, network, payer }
const receipt = { success: true, transaction: txHash, network, payer }
const ids = { challengeId: 'http-1', requestId: 'r-1' }
const grant = {
  type: 'AccessGrant',
  ...ids,
  accessToken: 'token',
  tokenType: 'Bearer',
  resourceEndpoint: `${baseUrl}/data`,
  resourceId: 'default',
  planId: 'basic',
  txHash,
  explorerUrl,
} as const

/** All that the header says of extensions: clients send it back with every payment. */
const OFFERED = { 'payment-identifier': { info: { required: false }, schema: {} } }

const bodyOf = (reply: Reply) => JSON.parse(reply.body!) as Record<string, unknown>
const decoded = (reply: Reply, header: string) => decodeJsonObject(reply.headers[header] ?? '')

describe('the 402', () => {
  test('the header is the whole offer in base64, and the body adds the schemas', () => {
    const offer = sampleOffer()
    const required = x402.paymentRequired(offer)
    const reply = render.outcome({ kind: 'challenge', offer })
    expect(reply.status).toBe(402)
    expect(reply.headers['payment-required']).toMatch(/^[A-Za-z0-9+/]+=*$/)
    expect(decoded(reply, 'payment-required')).toEqual({ ...required, extensions: OFFERED })
    const { extensions, ...rest } = bodyOf(reply)
    expect(rest).toEqual(required)
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
    expect(reply.headers['www-authenticate']).toMatch(
      /^Payment realm="https:\/\/api.example.com", accept="exact", challenge="http-1", id="http-1.s"/,
    )
    expect(reply.headers['cache-control']).toBe('no-store')
    expect(reply.headers).not.toHaveProperty('x-svc-code')
  })

  test('of a route asks for routeId and resource and promises a ResourceResponse', () => {
    const reply = render.outcome({
      kind: 'challenge',
      offer: sampleOffer({ kind: 'route', itemId: 'quote' }),
    })
    expect(bodyOf(reply)).toMatchObject({
      extensions: {
        svc: {
          inputSchema: { required: ['routeId', 'resource'] },
          outputSchema: { properties: { type: { const: 'ResourceResponse' } } },
        },
      },
    })
  })
})

describe('what was paid for', () => {
  const response = { type: 'ResourceResponse', ...ids, routeId: 'quote', txHash, explorerUrl } as const
  const resource = { ...response, resource: { status: 200, body: { price: 1 } } }
  const payment = { txHash, explorerUrl, payer, amount: '1', network, ...ids }
  const notice = {
    refund: { state: 'SCHEDULED', when: '2026-11-16T10:00:00.000Z' },
    statusUrl: 'https://api.example.com/x402/challenges/http-1',
  } as const

  test('attack 31: is for its buyer alone and carries the receipt', () => {
    const replies: Array<[Reply, object]> = [
      [render.outcome({ kind: 'granted', grant, settled, cached: false }), grant],
      [render.outcome({ kind: 'resource', response: resource, settled, cached: false }), resource],
      [render.outcome({ kind: 'paid', payment, settled, lease: 1, notice }), payment],
    ]
    for (const [reply, body] of replies) {
      expect(reply.status).toBe(200)
      expect(bodyOf(reply)).toEqual(body)
      expect(reply.headers['cache-control']).toBe('no-store, private')
      expect(decoded(reply, 'payment-response')).toEqual(receipt)
      expect(reply.headers).not.toHaveProperty('x-svc-code')
    }
  })

  test('and was not delivered says so, in the body and in headers; the receipt stays the receipt', () => {
    const failed = { ...response, resource: { status: 500, body: 'out of order' }, ...notice }
    const reply = render.outcome({ kind: 'resource', response: failed, settled, cached: false })
    expect(reply.status).toBe(200)
    expect(bodyOf(reply)).toEqual(failed)
    expect(decoded(reply, 'payment-response')).toEqual(receipt)
    expect(reply.headers).toMatchObject({
      'x-svc-code': 'DELIVERY_FAILED',
      'x-svc-refund': 'SCHEDULED',
      'x-svc-refund-when': notice.refund.when,
      'x-svc-status-url': notice.statusUrl,
    })
  })

  test('is the same when it comes from the cache, and says so', () => {
    const reply = render.outcome({ kind: 'granted', grant, settled, cached: true })
    expect(reply.body).toBe(render.outcome({ kind: 'granted', grant, settled, cached: false }).body)
    expect(reply.headers['x-svc-code']).toBe('PROOF_ALREADY_REDEEMED')
    const again = render.outcome({ kind: 'resource', response: resource, settled, cached: true })
    expect(again.headers['x-svc-code']).toBe('PROOF_ALREADY_REDEEMED')
  })
})

describe('a failure', () => {
  test.each(Object.keys(ERROR_CODES) as ErrorCode[])(
    '%s has the status of the table and is never cached',
    (code) => {
      const reply = render.outcome({ kind: 'failed', error: new GatewayError(code, 'because') })
      expect(reply.status).toBe(ERROR_CODES[code].httpStatus)
      expect(reply.headers).toMatchObject({ 'x-svc-code': code, 'cache-control': 'no-store' })
      const waits = code === 'SETTLEMENT_PENDING' || code === 'RATE_LIMITED'
      expect(reply.headers['retry-after']).toBe(waits ? '5' : undefined)
      expect(bodyOf(reply)).toMatchObject({
        type: 'Error',
        code,
        message: 'because',
        httpStatus: reply.status,
      })
    },
  )

  test('of a payment brings its receipt and a fresh offer in headers', () => {
    const offer = sampleOffer()
    const refused = { success: false, transaction: '', network, errorReason: 'insufficient_funds' }
    const error = new GatewayError('PAYMENT_FAILED', 'no balance')
    const reply = render.outcome({
      kind: 'failed',
      error,
      offer,
      settled: { network, failure: 'insufficient_funds' },
    })
    expect(reply.status).toBe(402)
    expect(decoded(reply, 'payment-required')).toEqual({
      ...x402.paymentRequired(offer),
      extensions: OFFERED,
    })
    expect(decoded(reply, 'payment-response')).toEqual(refused)
    expect(reply.headers['www-authenticate']).toContain('challenge="http-1"')
    expect(reply.headers['cache-control']).toBe('no-store, private')
    expect(bodyOf(reply)).toMatchObject({ type: 'Error', code: 'PAYMENT_FAILED' })
  })

  test('whose outcome is unknown names when to come back and where to look', () => {
    const error = new GatewayError('SETTLEMENT_PENDING', 'wait', {
      challengeId: 'http-1',
      retryAfterSeconds: 2.5,
    })
    const reply = render.outcome({ kind: 'failed', error })
    expect(reply.headers['retry-after']).toBe('3')
    expect(bodyOf(reply)).toMatchObject({
      statusUrl: 'https://api.example.com/x402/challenges/http-1',
      retryAfterSeconds: 2.5,
      retryable: true,
    })
  })
})
