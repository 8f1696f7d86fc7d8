import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { testPorts } from '../../../test/engine/test-core.ts'
import { TESTNET, testRail } from '../../../test/engine/test-rail.ts'
import { PAYER } from '../../../test/engine/test-rows.ts'
import { sampleDialects } from '../../../test/transports/sample-x402.ts'
import { createSiwx } from '../../dialects/siwx/create-siwx.ts'
import { createEngine } from '../../engine/engine.ts'
import { accountOf } from '../../engine/ownership/lots.ts'
import { GatewayError } from '../../errors.ts'
import type { Backend } from '../../ports.ts'
import type { DiscoveryCatalog, Route } from '../../protocol/catalog.ts'
import { buildCatalog } from '../../rules/catalog.ts'
import { sampleRow } from '../../testing/store-rows.ts'
import { createMcp } from '../mcp/create-mcp.ts'
import { createHttpHandler } from './create-http-handler.ts'
import { createSpenderReader } from './read-spender.ts'
import { createSignIn } from './sign-in.ts'

const BASE_URL = 'https://api.example.com'
const routes: Route[] = [
  { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', credits: 2 },
]
const plans = [
  { planId: 'basic', unitAmount: '$1.00', credits: 5 },
  { planId: 'big', unitAmount: '$9.00', credits: 50 },
]
const discovery = {
  ...{ agentName: 'Demo', description: 'demo', walletAddress: `0x${'22'.repeat(20)}`, chainId: 84532 },
  ...{ network: 'eip155:84532', asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e', plans, routes },
} as DiscoveryCatalog

/** The engine over the memory store, its HTTP endpoints and MCP; the wallet's signature is always its own. */
async function shop(route: Partial<Route> = {}, askPrice?: () => Promise<unknown>) {
  let calls = 0
  const backend: Backend = {
    async call({ challengeId, requestId, itemId, txHash }, { path }) {
      calls++
      const resource = { status: 200, body: { path } }
      const facts = { challengeId, requestId, routeId: itemId, txHash, explorerUrl: '' }
      const response = { type: 'ResourceResponse' as const, ...facts, resource }
      return { ok: true, response, sealed: JSON.stringify(response) }
    },
    open: async (_order, sealed) => ({ response: JSON.parse(sealed) }),
  }
  const random = { bytes: (length: number) => randomBytes(length) }
  const catalog = buildCatalog(plans, [{ ...routes[0]!, ...route }])
  const rails = [testRail({ hasSigned: async () => true })]
  const { ports, config } = testPorts({
    rails,
    random,
    backend,
    config: { catalog },
    ...(askPrice && { askPrice }),
  })
  const { store } = ports
  const now = () => ports.clock.now()
  async function sell(planId: string, granted: number, resourceId = 'default') {
    const row = sampleRow('credits', {
      key: resourceId === 'default' ? planId : `${planId} for ${resourceId}`,
      ref: accountOf(PAYER, planId, resourceId),
      dueAt: now() + 1e9,
    })
    Object.assign(row, { granted, spent: 0, reserved: [], expiresAt: now() + 1e9 })
    await store.commit({ puts: [{ table: 'credits', row }] })
  }
  const engine = createEngine(ports, config)
  const siwx = createSiwx({ baseUrl: BASE_URL, networks: [TESTNET.id], now, random })
  const signIn = createSignIn(engine, siwx)
  const claims = { sub: PAYER, planId: 'basic', resourceId: 'default', jti: 'basic', exp: 1e12 }
  const readSpender = createSpenderReader(
    async (authorization) =>
      authorization === 'Bearer good'
        ? { ok: true, claims }
        : { ok: false, error: new GatewayError('UNAUTHORIZED', 'not ours') },
    signIn,
    now,
  )
  const mcp = {
    baseUrl: BASE_URL,
    agentVersion: '1',
    trustProxy: false,
    networks: [TESTNET],
    mcp: { routes: true },
  }
  const counted: string[] = []
  const { fetch } = createHttpHandler({
    ...{ engine, dialects: sampleDialects(BASE_URL), signIn, discovery, baseUrl: BASE_URL, version: '1' },
    credits: { ...engine, readSpender, planIds: ['basic', 'big'] },
    ...{ networkIds: [TESTNET.id], storeName: 'memory' },
    limits: { maxBodyBytes: 10_000, requestTimeoutMs: 1000 },
    uptimeSeconds: () => 7,
    ready: async () => ({ ok: true, checks: {} }),
    routes: { catalog, forwardFree: async () => ({ status: 502, reason: '' }) },
    mounts: [createMcp(mcp, { discovery, catalogNow: () => discovery, catalog })],
    rateLimit(address) {
      counted.push(address)
      return { ok: true }
    },
  })
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(new Request(BASE_URL + path, { headers }), { address: '9.9.9.9' })
    return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) }
  }
  const proofFor = (path: string) => {
    const { info } = siwx.offer(path)
    const proof = {
      ...info,
      address: PAYER,
      chainId: TESTNET.id,
      type: 'eip191',
      signature: `0x${'11'.repeat(65)}`,
    }
    return Buffer.from(JSON.stringify(proof)).toString('base64')
  }
  const tool = async (args: object, headers: Record<string, string> = {}, _meta: object = {}) => {
    const params = { name: 'weather', arguments: args, _meta }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const types = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const init = { method: 'POST', headers: { ...types, ...headers }, body }
    const { result } = (await (
      await fetch(new Request(`${BASE_URL}/mcp`, init), { address: '8.8.8.8' })
    ).json()) as {
      result: { isError?: boolean; content: [{ text: string }]; _meta: Record<string, unknown> }
    }
    return { ...result, said: JSON.parse(result.content[0].text) }
  }
  return { get, tool, proofFor, sell, counted, calls: () => calls }
}

const GOOD = { authorization: 'Bearer good' }

test('a wallet spends by sign-in: once per proof, counted as a request without payment', async () => {
  const { get, proofFor, sell, counted, calls } = await shop()
  await sell('basic', 5)
  const terms = await get('/weather/paris')
  expect(terms.status).toBe(402)
  expect(terms.body.extensions['sign-in-with-x'].info.uri).toBe(`${BASE_URL}/weather/paris`)
  const required = JSON.parse(Buffer.from(terms.headers.get('payment-required')!, 'base64').toString())
  expect(required.extensions, 'directories read the header').not.toHaveProperty('sign-in-with-x')
  const proof = { 'sign-in-with-x': proofFor('/weather/paris') }
  expect((await get('/weather/paris', proof)).body).toMatchObject({ credits: { charged: 2, remaining: 3 } })
  const again = await get('/weather/paris', proof)
  expect([again.status, again.headers.get('www-authenticate')]).toEqual([401, 'sign-in-with-x'])
  expect([calls(), counted.length]).toEqual([1, 3])
})

test('a call that names a resource gets the sign-in in the header too; so does one with an Idempotency-Key', async () => {
  const { get, calls } = await shop()
  const offeredAt = async (path: string, headers: Record<string, string>) => {
    const terms = await get(path, headers)
    expect(terms.status).toBe(402)
    const required = JSON.parse(Buffer.from(terms.headers.get('payment-required')!, 'base64').toString())
    const inBody = terms.body.extensions['sign-in-with-x']
    return { inHeader: required.extensions['sign-in-with-x'], inBody, required }
  }
  const path = '/weather/paris?units=c'
  const named = { 'x-svc-resource-id': 'default' }
  for (const headers of [named, { ...named, 'idempotency-key': 'mine' }]) {
    const { inHeader, inBody, required } = await offeredAt(path, headers)
    expect(inHeader).toMatchObject({
      info: { domain: new URL(BASE_URL).host, uri: `${BASE_URL}/weather/paris` },
      supportedChains: [{ chainId: required.accepts[0].network, type: 'eip191' }],
    })
    expect(inBody.info.uri).toBe(inHeader.info.uri)
  }
  const { inHeader, inBody } = await offeredAt(path, { 'idempotency-key': 'other' })
  expect([inHeader, inBody.info.uri]).toEqual([undefined, `${BASE_URL}/weather/paris`])
  expect(calls()).toBe(0)
})

test('the same key of a wallet is debited once, whatever it bought in between', async () => {
  const { get, proofFor, sell, calls } = await shop()
  await sell('big', 50)
  const call = () =>
    get('/weather/rome', { 'sign-in-with-x': proofFor('/weather/rome'), 'idempotency-key': 'mine' })
  expect((await call()).body).toMatchObject({ credits: { planId: 'big', remaining: 48 } })
  await sell('basic', 5)
  expect((await call()).body).toMatchObject({ credits: { planId: 'big', remaining: 48 } })
  expect(calls()).toBe(1)
})

test('a wallet names the resource whose credits it spends, in a header or in _meta; a token has its own', async () => {
  const { get, tool, proofFor, sell, calls } = await shop()
  await sell('basic', 5)
  await sell('big', 50, 'team-a')
  const proof = () => ({ 'sign-in-with-x': proofFor('/weather/rome') })
  const ofTeam = { 'x-svc-resource-id': 'team-a' }
  const spent = await get('/weather/rome', { ...proof(), ...ofTeam })
  expect(spent.body).toMatchObject({ credits: { planId: 'big', remaining: 48 } })
  expect((await get('/weather/rome', proof())).body).toMatchObject({ credits: { planId: 'basic' } })
  const byToken = await get('/weather/rome', { ...GOOD, ...ofTeam })
  expect(byToken.body).toMatchObject({ credits: { planId: 'basic', remaining: 1 } })
  const meta = { 'sign-in-with-x': proofFor('/mcp'), 'paystile/resource-id': 'team-a' }
  expect((await tool({ city: 'oslo' }, {}, meta)).said).toMatchObject({
    credits: { planId: 'big', remaining: 46 },
  })
  const none = await get('/weather/rome', { ...proof(), 'x-svc-resource-id': 'team-b' })
  expect(none.body).toMatchObject({
    code: 'CREDITS_EXHAUSTED',
    message: 'The call costs 2 credits and 0 are left for the resource team-b; nothing was debited.',
    accepts: [{ amount: '10000' }],
  })
  const unused = proof()
  const malformed = await get('/weather/rome', { ...unused, 'x-svc-resource-id': 'a/b' })
  expect(malformed).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
  expect(malformed.body.message).toMatch(/^resourceId must be 1 to 128 characters/)
  const odd = { 'sign-in-with-x': proofFor('/mcp'), 'paystile/resource-id': 7 }
  expect((await tool({ city: 'oslo' }, {}, odd)).said.code).toBe('INVALID_REQUEST')
  expect(calls()).toBe(4)
  expect((await get('/weather/rome', { ...unused, ...ofTeam })).status, 'its proof was not used').toBe(200)
})

test('a token that spends is not counted; one that is not ours is refused, counted and told how to sign in', async () => {
  const { get, sell, counted, calls } = await shop()
  await sell('basic', 5)
  expect((await get('/weather/paris', GOOD)).status).toBe(200)
  expect(counted).toEqual([])
  const refused = await get('/weather/paris', { authorization: 'Bearer other' })
  expect(refused).toMatchObject({ status: 401, body: { message: 'not ours' } })
  expect(refused.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
  expect(refused.body.extensions['sign-in-with-x'].info.uri).toBe(`${BASE_URL}/weather/paris`)
  expect([counted.length, calls()]).toEqual([1, 1])
})

test('balances: of a token, of a wallet, of a plan that it names', async () => {
  const { get, proofFor, sell } = await shop()
  const url = '/x402/credits'
  const signedIn = (query = '') => get(url + query, { 'sign-in-with-x': proofFor(url) })
  expect((await get(url)).body.extensions['sign-in-with-x'].info.uri).toBe(BASE_URL + url)
  expect((await signedIn()).body).toEqual({ accounts: [] })
  await sell('basic', 5)
  const one = await get(url, GOOD)
  expect(one.headers.get('cache-control')).toBe('no-store, private')
  expect(one.body).toMatchObject({
    ...{ planId: 'basic', resourceId: 'default', granted: 5, spent: 0, reserved: 0, remaining: 5 },
    expiresAt: expect.stringMatching(/Z$/),
    lots: [{ challengeId: 'basic', remaining: 5, expiresAt: expect.stringMatching(/Z$/) }],
  })
  expect((await signedIn()).body).toEqual(one.body)
  await sell('big', 50)
  expect((await signedIn()).body).toMatchObject({ accounts: [{ planId: 'basic' }, { planId: 'big' }] })
  expect((await signedIn('?planId=big')).body).toMatchObject({ planId: 'big', remaining: 50 })
  expect((await signedIn('?planId=none')).body).toMatchObject({ code: 'TIER_NOT_FOUND' })
  expect((await signedIn('?planId=big&planId=basic')).body).toMatchObject({ code: 'INVALID_REQUEST' })
  expect((await get(`${url}?planId=big`, GOOD)).status).toBe(400)
})

test('a route tool is debited by token or sign-in; empty, it asks for the payment and names the plan', async () => {
  const { tool, proofFor, sell, counted, calls } = await shop()
  await sell('basic', 5)
  const named = { city: 'paris', requestId: 'once' }
  const first = await tool(named, GOOD)
  expect(first._meta).toEqual({ 'paystile/credits': { planId: 'basic', charged: 2, remaining: 3 } })
  expect(first.said).toMatchObject({ type: 'ResourceResponse', credits: { charged: 2 } })
  expect((await tool(named, GOOD)).said.resource).toEqual(first.said.resource)
  expect((await tool({ ...named, city: 'rome' }, GOOD)).said.code).toBe('IDEMPOTENCY_CONFLICT')
  expect(counted).toEqual([])
  const proof = { 'sign-in-with-x': proofFor('/mcp') }
  expect((await tool({ city: 'oslo' }, {}, proof))._meta).toMatchObject({
    'paystile/credits': { remaining: 1 },
  })
  expect((await tool({ city: 'oslo' }, {}, proof)).said.code).toBe('UNAUTHORIZED')
  const empty = await tool({ city: 'lima' }, GOOD)
  expect(empty.said).toMatchObject({ code: 'CREDITS_EXHAUSTED', topUp: { planId: 'basic', credits: 5 } })
  expect(empty.said.accepts).toHaveLength(1)
  expect(empty._meta).toHaveProperty('sign-in-with-x')
  expect((await tool({ city: 'lima' }, { authorization: 'Bearer other' })).said.code).toBe('UNAUTHORIZED')
  expect([counted.length, calls()]).toEqual([3, 2])
})

test('without credits and without a price there is nothing to offer: 503, and not a 402 without terms', async () => {
  const computed = { unitAmount: undefined, maxAmount: '$1', priceFrom: 'http://p' } as Partial<Route>
  const { get, sell } = await shop(computed, async () => 'no price')
  await sell('basic', 1)
  const answer = await get('/weather/paris', GOOD)
  expect(answer).toMatchObject({ status: 503, body: { code: 'PRICE_UNAVAILABLE' } })
})
