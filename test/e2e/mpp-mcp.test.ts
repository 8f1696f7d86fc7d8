import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BUYERS, payloadFor, said } from './mcp-clients.ts'
import {
  CREDENTIAL,
  callTool,
  credentialFor,
  metaOf,
  mppxFetch,
  openMppx,
  serialized,
} from './mpp-mcp-client.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'
import { PRICE, type World } from './world.ts'

const PLAN = { planId: 'basic' }

describe('MPP over MCP', () => {
  let routes: RoutesWorld
  let world: World
  beforeAll(async () => {
    routes = await startRoutesWorld({ options: { mcp: { routes: true }, settleWaitSeconds: 1 } })
    world = routes.world
  })
  afterAll(() => routes.stop())

  const newBuyer = () => world.chain.newBuyer({ micro: 10n * PRICE })
  const call = (meta?: unknown, headers?: Record<string, string>, args: unknown = PLAN) =>
    callTool(world.baseUrl, 'request_access', args, meta, headers)

  test('terms carry a challenge for every rail beside those of x402', async () => {
    const unpaid = await call()
    const accepted = unpaid.structuredContent!.accepts![0]!
    expect(unpaid.isError).toBe(true)
    const offered = metaOf(unpaid)['org.paymentauth/payment-required']!
    expect(offered).toEqual({
      httpStatus: 402,
      challenges: [
        {
          id: `${accepted.extra.challengeId}.${accepted.extra.salt}`,
          realm: world.baseUrl,
          method: 'evm',
          intent: 'charge',
          expires: expect.stringMatching(/^\d{4}-.*Z$/),
          request: {
            amount: PRICE.toString(),
            currency: accepted.asset,
            recipient: accepted.payTo,
            methodDetails: { chainId: 84532, credentialTypes: ['authorization'], decimals: 6 },
          },
          opaque: expect.any(String),
        },
      ],
      problem: {
        type: 'https://paymentauth.org/problems/payment-required',
        title: 'Payment Required',
        status: 402,
      },
    })
  })

  test('the unmodified client buys a plan; its credential again moves no money and fetches the same grant', async () => {
    const buyer = await newBuyer()
    const books = await world.ledger(buyer)
    const client = await openMppx(world.baseUrl, buyer)
    const paid = await client.call('request_access', PLAN)
    const grant = said(paid)
    expect(paid.isError ?? false, JSON.stringify(paid)).toBe(false)
    expect(grant).toMatchObject({
      type: 'AccessGrant',
      status: 'access_granted',
      requestId: expect.stringMatching(/^mcp-[0-9a-f]{32}$/),
    })
    expect(paid.receipt).toEqual({
      method: 'evm',
      reference: grant.txHash,
      status: 'success',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    expect(paid._meta?.['x402/payment-response']).toMatchObject({ success: true, transaction: grant.txHash })
    expect(client.sent).toHaveLength(1)
    await client.close()
    const forms = [client.sent[0], Buffer.from(JSON.stringify(client.sent[0])).toString('base64url')]
    for (const form of forms) {
      const again = await call({ [CREDENTIAL]: form })
      expect(said(again)).toEqual(grant)
      expect(metaOf(again)['org.paymentauth/receipt']).toEqual(paid.receipt)
    }
    expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
  })

  test('it buys a call of a route, which the backend sees once', async () => {
    const buyer = await newBuyer()
    routes.backend.seen.length = 0
    const client = await openMppx(world.baseUrl, buyer)
    const paid = await client.call('weather', { city: 'Rome' })
    expect(said(paid)).toMatchObject({
      type: 'ResourceResponse',
      resource: { status: 200, body: { url: '/weather/Rome', sky: 'clear' } },
    })
    expect(paid.receipt).toMatchObject({ status: 'success', reference: said(paid).txHash })
    const again = await callTool(world.baseUrl, 'weather', { city: 'Rome' }, { [CREDENTIAL]: client.sent[0] })
    expect(said(again)).toEqual(said(paid))
    const other = await callTool(world.baseUrl, 'weather', { city: 'Oslo' }, { [CREDENTIAL]: client.sent[0] })
    expect(said(other)).toMatchObject({ code: 'TX_ALREADY_REDEEMED' })
    expect(metaOf(other)).toEqual({})
    await client.close()
    expect(routes.backend.seen.map(({ url }) => url)).toEqual(['/weather/Rome'])
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })

  test('its payment-aware fetch buys by plain JSON-RPC', async () => {
    const buyer = await newBuyer()
    const paid = await mppxFetch(buyer)(world.baseUrl, 'request_access', PLAN)
    expect(said(paid)).toMatchObject({ status: 'access_granted' })
    expect(metaOf(paid)['org.paymentauth/receipt']).toMatchObject({ status: 'success' })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test.each(BUYERS)('$name still pays the same result by x402', async ({ open, sign }) => {
    const buyer = await newBuyer()
    const session = await open(world.baseUrl)
    const unpaid = await session.call('request_access', PLAN)
    expect(metaOf(unpaid)['org.paymentauth/payment-required']?.challenges).toHaveLength(1)
    const paid = await session.call('request_access', PLAN, { 'x402/payment': await sign(buyer, unpaid) })
    expect(said(paid)).toMatchObject({ status: 'access_granted' })
    expect(metaOf(paid), 'who paid by x402').not.toHaveProperty(['org.paymentauth/receipt'])
    await session.close()
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test.each(['authorization', 'payment-authorization'])(
    'the credential is also taken from %s',
    async (header) => {
      const buyer = await newBuyer()
      const credential = await serialized(buyer, await call())
      const paid = await call(undefined, { [header]: credential })
      expect(said(paid)).toMatchObject({ status: 'access_granted' })
      expect(metaOf(paid)['org.paymentauth/receipt']).toMatchObject({ reference: said(paid).txHash })
      expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    },
  )

  test('a failing backend: the notice of the refund, and no receipt', async () => {
    routes.backend.answer = (_call, response) => void response.writeHead(500).end('sorry')
    try {
      const buyer = await newBuyer()
      const client = await openMppx(world.baseUrl, buyer)
      const paid = await client.call('weather', { city: 'Rome' })
      expect(paid.isError).toBe(true)
      expect(said(paid)).toMatchObject({ resource: { status: 500 }, refund: { state: 'SCHEDULED' } })
      expect(paid.receipt).toBeUndefined()
      expect(metaOf(paid)).not.toHaveProperty(['org.paymentauth/payment-required'])
      expect(client.sent, 'it does not pay again').toHaveLength(1)
      await client.close()
      expect((await world.flows(buyer)).paid).toEqual([CALL_PRICE])
    } finally {
      routes.backend.answer = sunny
    }
  })

  test('an unknown outcome has no terms, so that the client signs nothing more', async () => {
    const buyer = await newBuyer()
    const client = await openMppx(world.baseUrl, buyer)
    await world.chain.setAutomine(false)
    const pending = await client.call('request_access', PLAN)
    await world.chain.setAutomine(true)
    await world.chain.mine()
    expect(pending).not.toHaveProperty('_meta')
    expect(said(pending)).toMatchObject({ code: 'SETTLEMENT_PENDING', retryable: true })
    expect(client.sent).toHaveLength(1)
    expect(said(await call({ [CREDENTIAL]: client.sent[0] }))).toMatchObject({ status: 'access_granted' })
    await client.close()
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('a payment that certainly failed answers a new challenge and says why', async () => {
    const poor = await world.chain.newBuyer({ micro: PRICE - 1n })
    const credential = await credentialFor(poor, await call())
    const failed = await call({ [CREDENTIAL]: credential })
    const { challenges, problem } = metaOf(failed)['org.paymentauth/payment-required']!
    expect(challenges[0]!.id).not.toBe(credential.challenge.id)
    expect(problem).toMatchObject({
      type: 'https://paymentauth.org/problems/verification-failed',
      status: 402,
      detail: expect.stringContaining('enough USDC'),
    })
    expect(metaOf(failed)).not.toHaveProperty(['org.paymentauth/receipt'])
    // Three times at most, and every time for nothing.
    const client = await openMppx(world.baseUrl, poor)
    expect((await client.call('request_access', PLAN)).isError).toBe(true)
    expect(new Set(client.sent.map(({ payload }) => payload.nonce)).size).toBe(3)
    await client.close()
    expect(await world.flows(poor)).toEqual({ paid: [], refunded: [] })
  })

  test('a named purchase that is paid is fetched by a new signature, which is never sent', async () => {
    const buyer = await newBuyer()
    const client = await openMppx(world.baseUrl, buyer)
    const args = { ...PLAN, requestId: 'mpp-mine-1' }
    const grant = said(await client.call('request_access', args))
    expect(grant).toMatchObject({ status: 'access_granted', requestId: 'mpp-mine-1' })
    expect(said(await client.call('request_access', args))).toEqual(grant)
    expect(client.sent).toHaveLength(2)
    await client.close()
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('what is no credential, or pays twice, is refused in one line, and nothing is charged', async () => {
    const buyer = await newBuyer()
    const unpaid = await call()
    const credential = await credentialFor(buyer, unpaid)
    const text = await serialized(buyer, unpaid)
    const x402 = await payloadFor(buyer, unpaid.structuredContent)
    const header = Buffer.from(JSON.stringify(x402)).toString('base64')
    const cases: Array<[meta: unknown, headers: Record<string, string>, message: RegExp]> = [
      [{ [CREDENTIAL]: null }, {}, /^_meta\["org.paymentauth\/credential"\] is neither an object nor/],
      [{ [CREDENTIAL]: 7 }, {}, /is neither an object nor/],
      [{ [CREDENTIAL]: {} }, {}, /malformed: challenge/],
      [{ [CREDENTIAL]: 'nonsense!' }, {}, /is not the base64url encoding/],
      [{ [CREDENTIAL]: { ...credential, pad: 'x'.repeat(9000) } }, {}, /bytes; at most 8192 are read/],
      [{ [CREDENTIAL]: `Payment ${'A'.repeat(12_000)}` }, {}, /at most 8192 are read/],
      [{ [CREDENTIAL]: credential, 'x402/payment': x402 }, {}, /^the call pays twice/],
      [{ [CREDENTIAL]: credential }, { 'payment-signature': header }, /^the call pays twice/],
      [{ 'x402/payment': x402 }, { authorization: text }, /^the call pays twice/],
      [undefined, { authorization: text, 'payment-authorization': text }, /^the call pays twice/],
      [undefined, { authorization: text, 'payment-signature': header }, /^the call pays twice/],
    ]
    for (const [meta, headers, message] of cases) {
      const result = await call(meta, headers)
      expect(result, String(message)).toMatchObject({ isError: true })
      expect(said(result)).toMatchObject({ code: 'INVALID_REQUEST', message: expect.stringMatching(message) })
      expect(result).not.toHaveProperty('_meta')
    }
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })
})
