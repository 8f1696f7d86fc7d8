import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ERROR_CODES, type ErrorCode } from '../../src/protocol/error-codes.ts'
import type { PaymentRequirements } from '../../src/protocol/payment.ts'
import { paymentPayload, signAuthorization } from '../../src/testing/index.ts'
import { type Answer, answerOf, PRICE, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

/** The whole shape of a failure: status, code, and words that name the fault. */
function expectError(answer: Answer, code: ErrorCode, named: string | RegExp): void {
  const { httpStatus } = ERROR_CODES[code]
  expect(answer).toMatchObject({ status: httpStatus, body: { type: 'Error', code, httpStatus } })
  expect(answer.body.message).toMatch(named)
  expect(answer.headers.get('x-svc-code')).toBe(code)
  expect(answer.headers.get('content-type')).toBe('application/json')
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

async function newPayload(change: (accepted: PaymentRequirements) => PaymentRequirements = (same) => same) {
  const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
  const required = await world.terms()
  const accepted = required.accepts[0]!
  const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
  return { buyer, required, payload: paymentPayload({ accepted: change(accepted), ...signed }) }
}

describe('requests', () => {
  test('without a planId: 400 with nothing but a pointer to GET /discover', async () => {
    for (const body of [' ', '{}', { requestId: 'x' }]) {
      const answer = await world.access(body)
      expect(answer.status).toBe(400)
      expect(Object.keys(answer.body)).toEqual(['error'])
      expect(answer.body.error).toContain(`GET ${world.baseUrl}/discover`)
    }
  })

  test('for what is not sold', async () => {
    expectError(await world.access({ planId: 'gold' }), 'TIER_NOT_FOUND', '"gold"')
    const route = { routeId: 'weather', resource: { method: 'GET', path: '/weather' } }
    expectError(await world.access(route), 'ROUTE_NOT_FOUND', '"weather"')
    const { payload } = await newPayload(({ extra, ...rest }) => ({
      ...rest,
      extra: { ...extra, planId: 'gold' },
    }))
    expectError(await world.pay(encode(payload)), 'TIER_NOT_FOUND', '"gold"')
  })

  test.each([
    ['{"planId":', 'not valid JSON'],
    ['["basic"]', 'an array'],
    ['null', 'null'],
    ['"basic"', 'a string'],
    ['{"planId":7}', 'planId'],
    ['{"planId":"basic","requestId":"a b"}', 'requestId'],
    ['{"planId":"basic","requestId":""}', 'requestId'],
    [`{"planId":"basic","requestId":"${'r'.repeat(129)}"}`, 'requestId'],
    ['{"planId":"basic","resourceId":"../x"}', 'resourceId'],
    ['{"planId":"basic","routeId":"weather"}', 'planId and routeId'],
    [`{"planId":"basic","clientAgentId":"${'a'.repeat(257)}"}`, 'clientAgentId'],
  ])('with the malformed body %s', async (body, named) => {
    expectError(await world.access(body), 'INVALID_REQUEST', named)
  })

  test('with an Idempotency-Key: it is the requestId, and must not contradict it', async () => {
    const key = { 'idempotency-key': 'key-1' }
    expect((await world.access({ planId: 'basic' }, key)).body.requestId).toBe('key-1')
    expectError(
      await world.access({ planId: 'basic', requestId: 'key-2' }, key),
      'INVALID_REQUEST',
      'Idempotency-Key',
    )
    const odd = await world.access({ planId: 'basic' }, { 'idempotency-key': 'a b' })
    expectError(odd, 'INVALID_REQUEST', 'Idempotency-Key')
  })

  test('to other places: 404, 405, and the status of an unknown challenge', async () => {
    const nowhere = await answerOf(await fetch(`${world.baseUrl}/nowhere`))
    expect(nowhere).toMatchObject({ status: 404, body: { type: 'Error', httpStatus: 404 } })
    const get = await answerOf(await fetch(`${world.baseUrl}/x402/access`))
    expect(get).toMatchObject({ status: 405, body: { httpStatus: 405 } })
    expect(get.headers.get('allow')).toContain('POST')
    const unknown = await answerOf(await fetch(`${world.baseUrl}/x402/challenges/http-unknown`))
    expectError(unknown, 'CHALLENGE_NOT_FOUND', 'no challenge')
  })

  test('that are too large', async () => {
    const answer = await world.access(JSON.stringify({ planId: 'basic', filler: 'x'.repeat(1_100_000) }))
    expectError(answer, 'BODY_TOO_LARGE', '1048576')
  })
})

describe('payments, none of which is charged', () => {
  test.each([
    ['not base64', '%%%', 'base64'],
    ['not JSON', Buffer.from('hello').toString('base64'), 'JSON'],
    ['an array', encode([]), 'JSON object'],
    ['of version 1', encode({ x402Version: 1, payload: {} }), 'x402Version'],
    ['without a payload', encode({ x402Version: 2 }), 'payload'],
    ['empty', '', 'base64'],
  ])('a header that is %s', async (_name, header, named) => {
    expectError(await world.pay(header, { planId: 'basic' }), 'INVALID_REQUEST', named)
  })

  test.each([
    ['from', '0x12', 'authorization.from'],
    ['to', 'seller', 'authorization.to'],
    ['nonce', '0x00', 'authorization.nonce'],
    ['nonce', undefined, 'authorization.nonce'],
  ])('an authorization whose %s is %s', async (field, value, named) => {
    const { payload } = await newPayload()
    const inner = payload.payload as { authorization: Record<string, unknown> }
    inner.authorization[field] = value
    expectError(await world.pay(encode(payload)), 'INVALID_REQUEST', named)
  })

  test('ids that contradict the echo', async () => {
    const { payload, buyer } = await newPayload()
    for (const [body, named] of [
      [{ planId: 'pro' }, 'planId'],
      [{ requestId: 'other' }, 'requestId'],
      [{ resourceId: 'other' }, 'resourceId'],
      [{ challengeId: 'http-other' }, 'challengeId'],
    ] as const) {
      expectError(await world.pay(encode(payload), body), 'INVALID_REQUEST', named)
    }
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test('a challenge that this gateway did not issue', async () => {
    const { challengeId } = await world.terms()
    const last = challengeId.at(-5) === 'A' ? 'B' : 'A'
    const forged = `${challengeId.slice(0, -5)}${last}${challengeId.slice(-4)}`
    for (const id of ['http-mine', forged]) {
      const { payload, buyer } = await newPayload(({ extra, ...rest }) => ({
        ...rest,
        extra: { ...extra, challengeId: id },
      }))
      expectError(await world.pay(encode(payload)), 'CHALLENGE_NOT_FOUND', id)
      expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
    }
  })

  test('a signature of somebody else, or of another domain', async () => {
    const { payload, buyer } = await newPayload()
    const inner = payload.payload as { signature: string }
    const { payload: other } = await newPayload()
    inner.signature = (other.payload as { signature: string }).signature
    expectError(await world.pay(encode(payload)), 'INVALID_PROOF', /signature/)
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test.each([
    ['without the money', async () => world.chain.newBuyer({ micro: PRICE - 1n }), /enough USDC/],
    [
      'from a blacklisted account',
      async () => {
        const buyer = await world.chain.newBuyer({ micro: PRICE })
        await world.chain.blacklist(buyer.address)
        return buyer
      },
      /blacklisted/,
    ],
  ])('%s: 402 with the reason, fresh terms and a failed receipt', async (_name, newBuyer, named) => {
    const buyer = await newBuyer()
    const books = await world.ledger(buyer)
    const required = await world.terms()
    const answer = await world.pay(await world.sign(buyer, required.accepts[0]!))
    expectError(answer, 'PAYMENT_FAILED', named)
    expect(answer.receipt).toMatchObject({ success: false, transaction: '', network: 'eip155:84532' })
    expect(answer.receipt?.errorReason).toMatch(named)
    expect(answer.headers.get('payment-required')).not.toBeNull()
    expect(answer.headers.get('www-authenticate')).toContain(`challenge="${required.challengeId}"`)
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
  })

  test('while the token is paused; unpaused, the same payload buys', async () => {
    const { payload, buyer } = await newPayload()
    await world.chain.pauseToken()
    expectError(await world.pay(encode(payload)), 'PAYMENT_FAILED', /paused/)
    await world.chain.unpauseToken()
    expect(await world.pay(encode(payload))).toMatchObject({ status: 200 })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})

test('too many requests without a payment: 429 with Retry-After, while payments still go through', async () => {
  const busy = await startWorld({ options: { rateLimitPerMinute: 5 } })
  try {
    const buyer = await busy.chain.newBuyer({ micro: PRICE })
    const header = await busy.sign(buyer, (await busy.terms()).accepts[0]!)
    const answers = await Promise.all(Array.from({ length: 10 }, () => busy.access({ planId: 'basic' })))
    const limited = answers.filter(({ status }) => status === 429)
    expect(limited.length).toBeGreaterThanOrEqual(5)
    expectError(limited[0]!, 'RATE_LIMITED', /too many requests/)
    expect(Number(limited[0]!.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await busy.pay('junk!')).status, 'a header that is no payment is no way around it').toBe(429)
    expect((await busy.pay(header)).status).toBe(200)
    expect(await busy.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  } finally {
    await busy.stop()
  }
})
