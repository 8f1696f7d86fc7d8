import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openRaw, payloadFor, post, said, signatureOf, toolCall } from './mcp-clients.ts'
import { PRICE, startWorld, type World } from './world.ts'

describe('MCP', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({ options: { mcp: true, settleWaitSeconds: 1 } })
  })
  afterAll(() => world.stop())

  const call = async (args: unknown, meta?: unknown) =>
    (await openRaw(world.baseUrl)).call('request_access', args as never, meta as never)

  test('after a payment that failed, the purchase has the name of the one that paid', async () => {
    const nameOf = (payment: object) =>
      `mcp-${createHash('sha256').update(signatureOf(payment)).digest('hex').slice(0, 32)}`
    const [poor, buyer] = [await world.chain.newBuyer(), await world.chain.newBuyer({ micro: PRICE })]
    const session = await openRaw(world.baseUrl)
    const args = { planId: 'basic' }
    const unpaid = await session.call('request_access', args)
    const pay = (payment: object) => session.call('request_access', args, { 'x402/payment': payment })
    const failing = await payloadFor(poor, unpaid.structuredContent)
    const failed = await pay(failing)
    expect(said(failed)).toMatchObject({ code: 'PAYMENT_FAILED' })
    // The terms that came with the failure have the name that the failing payment gave it.
    const paying = await payloadFor(buyer, failed.structuredContent)
    const grant = said(await pay(paying))
    expect(grant).toMatchObject({ status: 'access_granted', requestId: nameOf(paying) })
    expect(said(await pay(paying)), 'again').toEqual(grant)
    expect(said(await pay(failing)), 'whoever failed gets nothing').toMatchObject({ code: 'INVALID_PROOF' })
    const status = await world.status(String(grant.challengeId))
    expect(status).toMatchObject({ state: 'DELIVERED', requestId: nameOf(paying) })
    await session.close()
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('an unpaid call answers terms in three places, and how to pay them', async () => {
    const unpaid = await call({ planId: 'basic', resourceId: 'r-7' })
    const terms = {
      x402Version: 2,
      resource: {
        url: `${world.baseUrl}/x402/access`,
        description: 'One hour of everything',
        mimeType: 'application/json',
      },
      accepts: [
        expect.objectContaining({
          scheme: 'exact',
          network: 'eip155:84532',
          amount: PRICE.toString(),
          payTo: world.seller.address.toLowerCase(),
          maxTimeoutSeconds: 900,
          extra: expect.objectContaining({
            planId: 'basic',
            resourceId: 'r-7',
            challengeId: expect.stringMatching(/^mcp-/),
          }),
        }),
      ],
      error: 'Payment required',
    }
    expect(unpaid).toEqual({
      isError: true,
      structuredContent: terms,
      content: [{ type: 'text', text: expect.any(String) }],
      _meta: {
        'x402/error': terms,
        'org.paymentauth/payment-required': expect.any(Object),
        'sign-in-with-x': expect.any(Object),
      },
    })
    expect(said(unpaid)).toEqual({
      ...terms,
      x402PaymentUrl: `${world.baseUrl}/x402/access`,
      paymentInstructions: expect.stringContaining('_meta["x402/payment"]'),
    })
  })

  test('the two tools are listed with schemas, and request_access declares no output', async () => {
    const tools = await (await openRaw(world.baseUrl)).tools()
    expect(tools.map(({ name }) => name)).toEqual(['discover_plans', 'request_access'])
    expect(tools[1]).not.toHaveProperty('outputSchema')
    expect(tools[1]?.inputSchema).toMatchObject({
      type: 'object',
      required: ['planId'],
      properties: { planId: {}, resourceId: {}, requestId: {} },
    })
  })

  test('the payment is also taken from the payment-signature header', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const payment = await payloadFor(buyer, (await call({ planId: 'basic' })).structuredContent)
    const header = Buffer.from(JSON.stringify(payment)).toString('base64')
    const response = await post(world.baseUrl, toolCall('request_access', { planId: 'basic' }), {
      'payment-signature': header,
    })
    expect(response.headers.get('cache-control')).toBe('no-store, private')
    const { result } = (await response.json()) as { result: never }
    expect(said(result)).toMatchObject({ type: 'AccessGrant', status: 'access_granted' })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('terms of MCP can be paid over plain HTTP, as x402PaymentUrl says', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const unpaid = await call({ planId: 'basic' })
    const header = await world.sign(buyer, unpaid.structuredContent!.accepts![0]!)
    const response = await fetch(String(said(unpaid).x402PaymentUrl), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'payment-signature': header },
      body: JSON.stringify({ planId: 'basic' }),
    })
    expect(await response.json()).toMatchObject({ type: 'AccessGrant', planId: 'basic' })
  })

  test('a named requestId is the purchase’s name: one challenge, one charge, and no grant without a payment', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const args = { planId: 'basic', requestId: 'mine-1' }
    const [first, second] = [await call(args), await call(args)]
    const ids = [first, second].map((one) => one.structuredContent?.accepts?.[0]?.extra.challengeId)
    expect(ids[0]).toBe(ids[1])
    const grant = said(
      await call(args, { 'x402/payment': await payloadFor(buyer, second.structuredContent) }),
    )
    expect(grant).toMatchObject({ status: 'access_granted', requestId: 'mine-1', challengeId: ids[0] })
    const asked = await call(args)
    expect(asked.structuredContent?.error).toContain('This request is paid')
    expect(JSON.stringify(asked)).not.toContain(grant.accessToken)
    // A new signature of the same payer fetches the grant and is never sent.
    const anew = await call(args, { 'x402/payment': await payloadFor(buyer, asked.structuredContent) })
    expect(said(anew)).toEqual(grant)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('a payment that names itself (payment-identifier) names the purchase, and may not contradict requestId', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const unpaid = await call({ planId: 'basic' })
    const extensions = { 'payment-identifier': { info: { id: 'pay_mine_0123456789' } } }
    const payment = { ...(await payloadFor(buyer, unpaid.structuredContent)), extensions }
    const other = await call({ planId: 'basic', requestId: 'another' }, { 'x402/payment': payment })
    expect(said(other)).toMatchObject({ code: 'INVALID_REQUEST' })
    const grant = said(await call({ planId: 'basic' }, { 'x402/payment': payment }))
    expect(grant).toMatchObject({ status: 'access_granted', requestId: 'pay_mine_0123456789' })
    expect(said(await call({ planId: 'basic' }, { 'x402/payment': payment }))).toEqual(grant)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('a payment that certainly failed answers the terms again with the reason', async () => {
    const poor = await world.chain.newBuyer({ micro: PRICE - 1n })
    const payment = await payloadFor(poor, (await call({ planId: 'basic' })).structuredContent)
    const failed = await call({ planId: 'basic' }, { 'x402/payment': payment })
    expect(failed.isError).toBe(true)
    expect(failed.structuredContent).toMatchObject({
      x402Version: 2,
      accepts: [{ amount: PRICE.toString() }],
      error: expect.stringContaining('enough USDC'),
    })
    expect(said(failed)).toMatchObject({ code: 'PAYMENT_FAILED', x402PaymentUrl: expect.any(String) })
    expect(failed._meta).toMatchObject({
      'x402/error': { accepts: [{}] },
      'x402/payment-response': { success: false, transaction: '' },
    })
    expect(await world.flows(poor)).toEqual({ paid: [], refunded: [] })
  })

  test('a payment whose outcome is unknown is an error that asks for the same payload again', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const payment = await payloadFor(buyer, (await call({ planId: 'basic' })).structuredContent)
    await world.chain.setAutomine(false)
    const pending = await call({ planId: 'basic' }, { 'x402/payment': payment })
    expect(pending).not.toHaveProperty('structuredContent')
    expect(pending).not.toHaveProperty('_meta')
    expect(pending.isError).toBe(true)
    expect(said(pending)).toMatchObject({
      type: 'Error',
      code: 'SETTLEMENT_PENDING',
      message: expect.stringContaining('Send the same payload again'),
      retryable: true,
      retryAfterSeconds: expect.any(Number),
      statusUrl: expect.stringContaining('/x402/challenges/mcp-'),
    })
    await world.chain.setAutomine(true)
    await world.chain.mine()
    const granted = await call({ planId: 'basic' }, { 'x402/payment': payment })
    expect(said(granted)).toMatchObject({ status: 'access_granted' })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('what cannot be bought is reported in the standard error, and a payment with it is not charged', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const payment = await payloadFor(buyer, (await call({ planId: 'basic' })).structuredContent)
    const cases: Array<[unknown, unknown, string, string]> = [
      [{ planId: 'gold' }, undefined, 'TIER_NOT_FOUND', 'gold'],
      [{ planId: 'gold' }, { 'x402/payment': payment }, 'INVALID_REQUEST', 'planId'],
      [{ planId: 'pro' }, { 'x402/payment': payment }, 'INVALID_REQUEST', 'planId'],
      [{}, { 'x402/payment': payment }, 'INVALID_REQUEST', 'planId is missing'],
      [{ planId: 7 }, undefined, 'INVALID_REQUEST', 'planId'],
      [
        { planId: 'basic', resourceID: 'x' },
        { 'x402/payment': payment },
        'INVALID_REQUEST',
        'unknown "resourceID"',
      ],
      [{ planId: 'basic', requestId: 'a b' }, undefined, 'INVALID_REQUEST', 'requestId must be 1 to 128'],
      [
        { planId: 'basic' },
        { 'x402/payment': 'nonsense!' },
        'INVALID_REQUEST',
        '_meta["x402/payment"] is neither',
      ],
      [{ planId: 'basic' }, { 'x402/payment': null }, 'INVALID_REQUEST', '_meta["x402/payment"] is neither'],
      [
        { planId: 'basic' },
        { 'x402/payment': { x402Version: 1 } },
        'INVALID_REQUEST',
        'x402Version must be 2: pay with a client of x402 version 2',
      ],
      [{ planId: 'basic' }, { 'x402/payment': { pad: 'x'.repeat(9000) } }, 'INVALID_REQUEST', 'at most 8192'],
    ]
    for (const [args, meta, code, text] of cases) {
      const result = await call(args, meta)
      expect(result, JSON.stringify([args, said(result)])).toMatchObject({ isError: true })
      expect(said(result)).toMatchObject({ type: 'Error', code, message: expect.stringContaining(text) })
      expect(result).not.toHaveProperty('structuredContent')
    }
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test('an unknown tool or method is a JSON-RPC error that names what there is', async () => {
    const unknown = await (await post(world.baseUrl, toolCall('buy', {}))).json()
    expect(unknown).toMatchObject({
      id: 1,
      error: { code: -32602, message: 'There is no tool "buy"; there are discover_plans, request_access.' },
    })
    const method = await (await post(world.baseUrl, { jsonrpc: '2.0', id: 2, method: 'prompts/list' })).json()
    expect(method).toMatchObject({ id: 2, error: { code: -32601 } })
  })

  test('malformed posts are refused with what to send instead', async () => {
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const refused = async (body: unknown, headers: Record<string, string> = {}) => {
      const response = await post(world.baseUrl, body, headers)
      const { error } = (await response.json()) as { error: { code: number; message: string } }
      return [response.status, error.code, error.message]
    }
    expect(await refused('{')).toEqual([400, -32700, expect.stringContaining('not valid JSON')])
    expect(await refused([list, list])).toEqual([
      400,
      -32600,
      expect.stringContaining('one message per POST'),
    ])
    expect(await refused('7')).toEqual([400, -32600, expect.stringContaining('not a JSON object')])
    expect(await refused(list, { accept: 'text/html' })).toEqual([
      406,
      -32000,
      expect.stringContaining('application/json and text/event-stream'),
    ])
    expect(await refused(list, { 'content-type': 'text/plain' })).toEqual([
      415,
      -32000,
      expect.stringContaining('application/json'),
    ])
    expect(await refused('x'.repeat(1024 * 1024 + 1))).toEqual([
      413,
      -32000,
      expect.stringContaining('exceeds'),
    ])
    expect((await post(world.baseUrl, list, { accept: '*/*' })).status, 'anything is both').toBe(200)
  })

  test('nothing can be subscribed to, so that no stream stays open', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const method = 'subscriptions/listen'
    const params = { notifications: { toolsListChanged: true }, _meta: meta }
    const response = await post(
      world.baseUrl,
      { jsonrpc: '2.0', id: 1, method, params },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
    )
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32601 } })
  })
})
