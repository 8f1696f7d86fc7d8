import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { SignInOffer } from '../../src/dialects/siwx/write-offer.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { payloadFor, said, type ToolResult } from './mcp-clients.ts'
import { CALL_PRICE, ROUTES, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'
import { signedProof } from './sign-in-client.ts'
import { PRICE } from './world.ts'

const routes = ROUTES.map((route) => (route.routeId === 'weather' ? { ...route, credits: 2 } : route))
const plans = [{ planId: 'basic', unitAmount: '$1.00', credits: 5 }]
const CREDITS = 'paystile/credits'
const SIGN_IN = 'sign-in-with-x'

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld({ options: { routes, plans, mcp: { routes: true }, rateLimitPerMinute: 40 } })
})
afterAll(() => shop.stop())
beforeEach(() => {
  shop.backend.seen.length = 0
  shop.backend.answer = sunny
})

async function buyCredits(micro = PRICE): Promise<{ buyer: DevAccount; token: string }> {
  const buyer = await shop.world.chain.newBuyer({ micro })
  const { status, body } = await shop.world.buy(buyer)
  expect(status).toBe(200)
  return { buyer, token: body.accessToken! }
}

/** The official client; its token is a header of every HTTP request. */
async function connected(token?: string) {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${shop.world.baseUrl}/mcp`), { requestInit: { headers } }),
  )
  return {
    client,
    call: async (name: string, args: Record<string, unknown>, _meta?: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: args, ...(_meta && { _meta }) })) as ToolResult & {
        _meta?: Record<string, unknown>
      },
  }
}

test('a token on the HTTP request is debited; empty, the tool asks for the payment and names the plan', async () => {
  const { token } = await buyCredits()
  const { client, call } = await connected(token)
  const { tools } = await client.listTools()
  const described = (wanted: string) => tools.find(({ name }) => name === wanted)!.description
  expect(described('weather')).toContain('costs 2 credits')
  expect(described('report')).not.toContain('credits')
  const first = await call('weather', { city: 'paris' })
  expect(first.isError).toBeFalsy()
  expect(said(first)).toMatchObject({
    type: 'ResourceResponse',
    resource: { status: 200, body: { sky: 'clear' } },
    credits: { planId: 'basic', charged: 2, remaining: 3 },
  })
  expect(first._meta).toEqual({ [CREDITS]: { planId: 'basic', charged: 2, remaining: 3 } })
  shop.backend.answer = (_call, response) => void response.writeHead(500).end('broken')
  const failed = await call('weather', { city: 'paris' })
  expect([failed.isError, failed._meta]).toEqual([
    true,
    { [CREDITS]: { planId: 'basic', charged: 0, remaining: 3 } },
  ])
  shop.backend.answer = sunny
  const named = { city: 'rome', requestId: 'once' }
  const once = await call('weather', named)
  const again = await call('weather', named)
  expect(said(again).resource).toEqual(said(once).resource)
  const other = await call('weather', { city: 'oslo', requestId: 'once' })
  expect([other.isError, said(other).code]).toEqual([true, 'IDEMPOTENCY_CONFLICT'])
  expect(shop.backend.seen.length).toBe(3)
  const empty = await call('weather', { city: 'lima' })
  expect(empty.isError).toBe(true)
  expect(empty.structuredContent?.accepts).toHaveLength(1)
  expect(said(empty)).toMatchObject({ code: 'CREDITS_EXHAUSTED', topUp: { planId: 'basic', credits: 5 } })
  expect(shop.backend.seen.length).toBe(3)
  await client.close()
})

test('a payment in _meta wins over the token; a token that is not good is refused', async () => {
  const { token } = await buyCredits()
  const buyer = await shop.world.chain.newBuyer({ micro: CALL_PRICE })
  const unpaid = await (await connected()).call('weather', { city: 'lima' })
  const payment = await payloadFor(buyer, unpaid.structuredContent)
  const { call, client } = await connected(token)
  const paid = await call('weather', { city: 'lima' }, { 'x402/payment': payment })
  expect(paid._meta?.['x402/payment-response']).toMatchObject({ success: true })
  expect(paid._meta).not.toHaveProperty(CREDITS)
  expect(await shop.world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  expect((await call('weather', { city: 'lima' }))._meta).toMatchObject({ [CREDITS]: { remaining: 3 } })
  await client.close()
  const forged = await connected(`${token.slice(0, -4)}AAAA`)
  const refused = await forged.call('weather', { city: 'lima' })
  expect([refused.isError, said(refused).code]).toEqual([true, 'UNAUTHORIZED'])
  // What takes no credits is sold as ever.
  expect((await forged.call('report', {})).structuredContent?.accepts).toHaveLength(1)
  expect(shop.backend.seen.length).toBe(2)
  await forged.client.close()
})

test('the wallet signs in, once per proof', async () => {
  const { buyer } = await buyCredits()
  const { call, client } = await connected()
  const offered = (await call('weather', { city: 'lima' }))._meta?.[SIGN_IN] as SignInOffer
  expect(offered.info.uri).toBe(`${shop.world.baseUrl}/mcp`)
  const proof = { [SIGN_IN]: await signedProof(offered, buyer) }
  expect((await call('weather', { city: 'lima' }, proof))._meta).toMatchObject({
    [CREDITS]: { remaining: 3 },
  })
  expect(said(await call('weather', { city: 'lima' }, proof)).code).toBe('UNAUTHORIZED')
  expect(shop.backend.seen.length).toBe(1)
  await client.close()
})

test('whose token has no credits left pays for the call that its requestId names: once, however often it is signed', async () => {
  const { buyer, token } = await buyCredits(PRICE + 2n * CALL_PRICE)
  const { client, call } = await connected(token)
  for (const _ of [1, 2]) expect((await call('weather', { city: 'paris' })).isError).toBeFalsy()
  const named = { city: 'oslo', requestId: `single-${buyer.address}` }
  const pay = async () => {
    const terms = await call('weather', named)
    return call('weather', named, { 'x402/payment': await payloadFor(buyer, terms.structuredContent) })
  }
  const first = said(await pay())
  expect(first).toMatchObject({ type: 'ResourceResponse', requestId: named.requestId })
  expect(said(await pay())).toMatchObject({ challengeId: first.challengeId })
  expect((await shop.world.flows(buyer)).paid).toEqual([PRICE, CALL_PRICE])
  await client.close()
})
