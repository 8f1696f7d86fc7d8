import { describe, expect, test } from 'vitest'
import { sampleDialects, samplePayload } from '../../../test/transports/sample-x402.ts'
import { GatewayError } from '../../errors.ts'
import { encodeJson } from '../../protocol/base64.ts'
import { decodeAccess } from './decode-access.ts'
import { decodePaymentHeaders } from './decode-call.ts'

const limits = { maxBodyBytes: 1000, requestTimeoutMs: 1000 }
const dialects = sampleDialects('http://localhost')

const { authorization } = samplePayload.payload
const payload = {
  ...samplePayload,
  accepted: {
    scheme: 'exact',
    extra: { planId: 'basic', challengeId: 'http-1', requestId: 'r-1', salt: 's' },
  },
}
const paying = (value: unknown = payload) => ({ 'payment-signature': encodeJson(value) })

async function decode(body: unknown, headers: Record<string, string> = {}, limited = limits) {
  const stream = body instanceof ReadableStream
  const request = new Request('http://localhost/x402/access', {
    method: 'POST',
    headers,
    body: stream || typeof body === 'string' ? body : JSON.stringify(body),
    ...(stream && { duplex: 'half' as const }),
  })
  const { paying } = decodePaymentHeaders(dialects, request)
  if (paying instanceof GatewayError) return { kind: 'fault' as const, error: paying }
  return decodeAccess(request, limited, paying.payment)
}

async function intent(body: unknown, headers: Record<string, string> = {}) {
  const decoded = await decode(body, headers)
  if (decoded.kind !== 'intent') throw new Error(`expected an intent, got ${JSON.stringify(decoded)}`)
  return decoded.intent
}

async function fault(body: unknown, headers: Record<string, string> = {}, limited = limits) {
  const decoded = await decode(body, headers, limited)
  if (decoded.kind !== 'fault') throw new Error(`expected a fault, got ${JSON.stringify(decoded)}`)
  return decoded
}

describe('what the engine is asked', () => {
  test('every field of the body arrives, and nothing else', async () => {
    const resource = { method: 'post', path: '/a?b=1', body: { c: 1 } }
    const body = {
      routeId: 'quote',
      requestId: 'r',
      resourceId: 'x',
      resource,
      clientAgentId: 'agent://1',
      other: 1,
    }
    expect(await intent(body)).toEqual({
      transport: 'http',
      routeId: 'quote',
      requestId: 'r',
      resourceId: 'x',
      call: {
        method: 'POST',
        path: '/a?b=1',
        headers: { 'content-type': 'application/json' },
        body: Buffer.from('{"c":1}'),
      },
      clientAgentId: 'agent://1',
    })
  })

  test('words that were understood before are understood alike, and carry nothing of the last request', async () => {
    const key = { 'idempotency-key': 'mine' }
    const asked = { transport: 'http', planId: 'basic' }
    expect(await intent({ planId: 'basic' }, key)).toEqual({ ...asked, requestId: 'mine' })
    expect(await intent({ planId: 'basic' })).toEqual(asked)
    const resource = { method: 'POST', path: '/a', body: { c: 1 } }
    const first = await intent({ routeId: 'quote', resource })
    first.call!.headers['x-mine'] = '1'
    expect((await intent({ routeId: 'quote', resource })).call!.headers).not.toHaveProperty('x-mine')
    for (let index = 0; index < 250; index++)
      expect(await intent({ planId: `p-${index}` })).toEqual({ transport: 'http', planId: `p-${index}` })
    expect(await intent({ planId: 'basic' })).toEqual(asked)
  })

  test('bytes that are no UTF-8 are not taken for what they look like', async () => {
    const bytes = (text: string, encoding: BufferEncoding) => new Response(Buffer.from(text, encoding)).body!
    const agent = '{"planId":"basic","clientAgentId":"é"}'
    expect((await fault(bytes(agent, 'latin1'))).error.message).toContain('not UTF-8')
    expect(await intent(bytes(agent, 'utf8'))).toMatchObject({ clientAgentId: 'é' })
    expect((await fault(bytes(agent, 'latin1'))).error.message).toContain('not UTF-8')
  })

  test.each(['base64', 'base64url'] as const)(
    'with an empty body a %s payment brings all ids',
    async (encoding) => {
      const header = Buffer.from(JSON.stringify(payload)).toString(encoding)
      const understood = await intent('', { 'PAYMENT-SIGNATURE': header })
      expect(understood).toMatchObject({ planId: 'basic', challengeId: 'http-1', requestId: 'r-1' })
      expect(understood.payment!.signature).toBe(`0x${'ab'.repeat(65)}`)
      expect(understood.payment!.signed).toMatchObject({ nonce: `0x${'cd'.repeat(32)}` })
    },
  )

  test('where body and echo differ the body goes on beside the echo, for the engine to judge', async () => {
    const understood = await intent({ routeId: 'quote', requestId: 'mine' }, paying())
    expect(understood).toMatchObject({ routeId: 'quote', requestId: 'mine', challengeId: 'http-1' })
    expect(understood).not.toHaveProperty('planId')
    expect(understood.payment!.echo.planId).toBe('basic')
  })

  test('a payment whose echo names only a challenge is for the engine to find', async () => {
    expect(
      await intent('', paying({ ...payload, accepted: { extra: { challengeId: 'http-9' } } })),
    ).toMatchObject({
      challengeId: 'http-9',
    })
  })

  test('Idempotency-Key is another name of requestId, quoted or not', async () => {
    expect(await intent({ planId: 'a' }, { 'idempotency-key': 'k-1' })).toMatchObject({ requestId: 'k-1' })
    const both = await intent({ planId: 'a', requestId: 'k-1' }, { 'idempotency-key': '"k-1"' })
    expect(both).toMatchObject({ requestId: 'k-1' })
  })

  test('x-payment of x402 version 1 is refused, and beside a payment it is nothing', async () => {
    const old = { 'x-payment': encodeJson({ ...payload, x402Version: 1 }) }
    expect(await decode({ planId: 'basic' }, old)).toMatchObject({
      kind: 'fault',
      error: { code: 'INVALID_REQUEST', message: expect.stringMatching(/version 2.*payment-signature/) },
    })
    expect(await intent('', { ...old, ...paying(payload) })).toHaveProperty('payment')
  })
})

describe('what is refused', () => {
  const unsigned = { ...payload, payload: { authorization } }
  const twofold = { ...payload, accepted: { extra: { planId: 'a', routeId: 'b' } } }
  const twice = `${encodeJson(payload)}, ${encodeJson(payload)}`
  const brew = { method: 'BREW', path: '/' }
  const cases: Array<[string, unknown, Record<string, string>, RegExp]> = [
    ['invalid JSON', '{"planId":', {}, /not valid JSON/],
    ['an array', '[1]', {}, /is an array/],
    ['no UTF-8', new Response(new Uint8Array([0xff])).body, {}, /UTF-8/],
    ['a number for planId', { planId: 7 }, {}, /planId: expected string, received number/],
    [
      'a requestId with blanks',
      { planId: 'a', requestId: 'a b' },
      {},
      /requestId must be 1 to 128 characters/,
    ],
    ['an unknown method', { routeId: 'a', resource: brew }, {}, /resource\.method: expected one of/],
    [
      'a resource without path',
      { routeId: 'a', resource: { method: 'GET' } },
      {},
      /resource\.path is missing; expected/,
    ],
    [
      'a GET with a body',
      { routeId: 'a', resource: { method: 'get', path: '/a', body: { c: 1 } } },
      {},
      /^a GET request has no body here; nothing was charged$/,
    ],
    [
      'a HEAD with null as its body',
      { routeId: 'a', resource: { method: 'HEAD', path: '/a', body: null } },
      {},
      /^a HEAD request has no body here/,
    ],
    ['planId and routeId', { planId: 'a', routeId: 'b' }, {}, /planId and routeId/],
    ['planId and routeId in the echo', '', paying(twofold), /planId and routeId/],
    [
      'two request ids',
      { planId: 'a', requestId: 'x' },
      { 'idempotency-key': 'y' },
      /Idempotency-Key header differ/,
    ],
    [
      'a bad Idempotency-Key',
      { planId: 'a' },
      { 'idempotency-key': 'a b' },
      /Idempotency-Key header must be/,
    ],
    [
      'no base64',
      { planId: 'a' },
      { 'payment-signature': '?' },
      /payment-signature header is not the base64/,
    ],
    [
      'a payment that is not encoded',
      { planId: 'a' },
      { 'payment-signature': JSON.stringify(payload) },
      /payment-signature header is JSON; send the base64 encoding of it/,
    ],
    [
      'an empty payment',
      { planId: 'a' },
      { 'payment-signature': '' },
      /payment-signature header is not the base64/,
    ],
    ['a payment that is an array', { planId: 'a' }, paying([payload]), /encoding of a JSON object/],
    ['the payment twice', { planId: 'a' }, { 'payment-signature': twice }, /more than once/],
    [
      '9 KiB of payment',
      { planId: 'a' },
      paying({ pad: 'x'.repeat(9000) }),
      /decodes to \d+ bytes; at most 8192/,
    ],
    ['version 1', { planId: 'a' }, paying({ ...payload, x402Version: 1 }), /x402Version must be 2/],
    ['no signature', { planId: 'a' }, paying(unsigned), /payload\.signature is missing; expected string/],
  ]
  test.each(cases)('%s is INVALID_REQUEST and says what is wrong', async (_name, body, headers, message) => {
    const { error } = await fault(body, headers)
    expect(error.code).toBe('INVALID_REQUEST')
    expect(error.message).toMatch(message)
  })

  test.each(['1e6', '0x10', '-1', ' 1', '', '01', '1'.repeat(80)])('attack 24: value %j', async (value) => {
    const changed = {
      ...payload,
      payload: { ...payload.payload, authorization: { ...authorization, value } },
    }
    const { error } = await fault({ planId: 'basic' }, paying(changed))
    expect(error.code).toBe('INVALID_REQUEST')
    expect(error.message).toContain('payload.authorization.value')
  })

  test('a signature that is malformed is not repeated in the message', async () => {
    const signature = `0x${'ab'.repeat(30)}zz`
    const { error } = await fault('', paying({ ...payload, payload: { signature, authorization } }))
    expect(error.message).toContain('payload.signature must be')
    expect(error.message).not.toContain('abab')
  })

  test.each(['{}', '', ' ', '{"requestId":"r"}', '{"challengeId":"http-1"}'])(
    '%j asks for nothing',
    async (body) => {
      expect(await decode(body)).toEqual({ kind: 'nothing-asked' })
    },
  )

  test('a body over the limit, with its length declared or not', async () => {
    const declared = await fault(
      { planId: 'a', clientAgentId: 'x'.repeat(2000) },
      { 'content-length': '2000' },
    )
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(400)) })
    for (const { error } of [declared, await fault(endless)]) expect(error.code).toBe('BODY_TOO_LARGE')
  })

  test('a body that never comes is a timeout, and one that breaks off is refused', async () => {
    const late = await fault(new ReadableStream(), {}, { maxBodyBytes: 1000, requestTimeoutMs: 20 })
    expect(late.httpStatus).toBe(408)
    const broken = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) })
    expect((await fault(broken)).error.message).toContain('ended early')
  })
})

describe('the payment-identifier extension', () => {
  const named = (id: unknown) => ({ ...payload, extensions: { 'payment-identifier': { info: { id } } } })

  test('its id is the name that the payment gives itself, beside that of the echo', async () => {
    expect(await intent({}, paying(named('pay_0123456789abcdef')))).toMatchObject({
      payment: { paymentId: 'pay_0123456789abcdef' },
      requestId: 'r-1',
    })
  })

  test('an echo without an id, and extensions of others, say nothing', async () => {
    for (const extensions of [
      null,
      {},
      { bazaar: 7 },
      { 'payment-identifier': { info: { required: false } } },
    ]) {
      expect((await intent({}, paying({ ...payload, extensions }))).payment?.paymentId).toBeUndefined()
    }
  })

  test('an id outside the syntax of ids is refused by name', async () => {
    for (const id of ['', 'a b', 'x'.repeat(129), 7]) {
      const { error } = await fault({}, paying(named(id)))
      expect(error.code).toBe('INVALID_REQUEST')
      expect(error.message).toContain('extensions.payment-identifier.info.id')
    }
  })

  test('one that contradicts requestId or Idempotency-Key is refused; the same twice is fine', async () => {
    const header = paying(named('pay_0123456789abcdef'))
    expect((await fault({ requestId: 'other' }, header)).error.message).toMatch(/payment-identifier differ/)
    const keyed = { ...header, 'idempotency-key': 'other' }
    expect((await fault({}, keyed)).error.message).toMatch(/Idempotency-Key.*payment-identifier differ/)
    expect(await intent({ requestId: 'pay_0123456789abcdef' }, header)).toMatchObject({
      requestId: 'pay_0123456789abcdef',
      payment: { paymentId: 'pay_0123456789abcdef' },
    })
  })
})
