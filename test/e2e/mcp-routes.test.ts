import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createGateway } from '../../src/gateway.ts'
import type { Route } from '../../src/protocol/catalog.ts'
import { BUYERS, openRaw, payloadFor, said } from './mcp-clients.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'
import { TOKEN_SECRET } from './world.ts'

const priced = { unitAmount: '$0.01' }
const LONG = `${'long-'.repeat(20)}one`
const ROUTES: Route[] = [
  { routeId: 'weather', method: 'GET', path: '/weather/:city', description: 'One city', ...priced },
  { routeId: 'report', method: 'POST', path: '/report/:query', ...priced },
  { routeId: 'a.b', method: 'GET', path: '/dot', ...priced },
  { routeId: 'a:b', method: 'GET', path: '/colon', ...priced },
  { routeId: 'request_access', method: 'GET', path: '/taken', ...priced },
  { routeId: LONG, method: 'GET', path: '/long/1', ...priced },
  { routeId: `${LONG}-more`, method: 'GET', path: '/long/2', ...priced },
  { routeId: 'cities', method: 'GET', path: '/cities', free: true },
]

describe('routes as tools', () => {
  let routes: RoutesWorld
  beforeAll(async () => {
    routes = await startRoutesWorld({ options: { routes: ROUTES, mcp: { routes: true } } })
  })
  afterAll(() => routes.stop())
  beforeEach(() => {
    routes.backend.seen.length = 0
  })

  const session = () => openRaw(routes.world.baseUrl)
  const newBuyer = () => routes.world.chain.newBuyer({ micro: 10n * CALL_PRICE })

  test('every paid route is one tool, with a name that models take, its price and its parameters', async () => {
    const tools = await (await session()).tools()
    const names = tools.map(({ name }) => name)
    expect(names.slice(0, 7)).toEqual([
      'discover_plans',
      'request_access',
      'weather',
      'report',
      'a_b',
      'a_b_2',
      'request_access_2',
    ])
    expect(names).toHaveLength(9)
    expect(new Set(names).size).toBe(9)
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(tools[2]?.description).toMatch(/^One city\. .*\$0\.01 in USDC per call/)
    expect(tools[2]?.inputSchema).toMatchObject({
      type: 'object',
      required: ['city'],
      properties: { city: { type: 'string' }, query: { type: 'object' }, requestId: { type: 'string' } },
      additionalProperties: false,
    })
    expect(tools[2]?.inputSchema).not.toHaveProperty('properties.body')
    // The path has a parameter of that name.
    expect(tools[3]?.inputSchema).toMatchObject({
      required: ['query'],
      properties: { query: { type: 'string' }, _query: { type: 'object' }, body: {} },
    })
  })

  test.each(BUYERS)(
    '$name buys a call; the same payload again is answered without a second one',
    async ({ open, sign }) => {
      const { world, backend } = routes
      const buyer = await newBuyer()
      const books = await world.ledger(buyer)
      const client = await open(world.baseUrl)
      const args = { city: 'Zürich & more', query: { units: 'metric', day: [1, 2], raw: true } }
      const url = '/weather/Z%C3%BCrich%20%26%20more?units=metric&day=1&day=2&raw=true'
      const unpaid = await client.call('weather', args)
      expect(unpaid.isError).toBe(true)
      expect(unpaid.structuredContent).toMatchObject({
        resource: { url: world.baseUrl + url },
        accepts: [{ amount: CALL_PRICE.toString(), extra: { routeId: 'weather' } }],
      })
      expect(backend.seen).toEqual([])
      const payment = await sign(buyer, unpaid)
      const paid = await client.call('weather', args, { 'x402/payment': payment })
      expect(said(paid)).toMatchObject({
        type: 'ResourceResponse',
        routeId: 'weather',
        requestId: expect.stringMatching(/^mcp-[0-9a-f]{32}$/),
        resource: { status: 200, body: { url, sky: 'clear' } },
      })
      expect(paid._meta?.['x402/payment-response']).toMatchObject({
        success: true,
        transaction: said(paid).txHash,
      })
      const again = await client.call('weather', args, { 'x402/payment': payment })
      expect(said(again)).toEqual(said(paid))
      expect(backend.seen.map((call) => call.url)).toEqual([url])
      // Another call is another purchase.
      const other = await client.call('weather', { ...args, city: 'Rome' }, { 'x402/payment': payment })
      expect(said(other)).toMatchObject({ type: 'Error', code: 'TX_ALREADY_REDEEMED' })
      await client.close()
      expect(await books.changes()).toEqual({ seller: CALL_PRICE, buyers: [-CALL_PRICE] })
    },
  )

  test('a body goes to the backend as JSON, and a named requestId is the call’s name', async () => {
    const buyer = await newBuyer()
    const client = await session()
    const args = { query: 'sky', _query: { deep: 1 }, body: { text: 'naïve ☃' }, requestId: 'call-1' }
    const unpaid = await client.call('report', args)
    const payment = await payloadFor(buyer, unpaid.structuredContent)
    const paid = await client.call('report', args, { 'x402/payment': payment })
    expect(said(paid)).toMatchObject({ type: 'ResourceResponse', requestId: 'call-1' })
    const [seen] = routes.backend.seen
    expect(seen).toMatchObject({ method: 'POST', url: '/report/sky?deep=1' })
    expect(seen?.headers['content-type']).toBe('application/json')
    expect(JSON.parse(String(seen?.body))).toEqual(args.body)
  })

  test('a backend’s failure is part of what was answered, as over HTTP', async () => {
    routes.backend.answer = (_call, response) =>
      void response.writeHead(500, { 'content-type': 'text/plain' }).end('sorry')
    try {
      const client = await session()
      const unpaid = await client.call('weather', { city: 'Rome' })
      const payment = await payloadFor(await newBuyer(), unpaid.structuredContent)
      const paid = await client.call('weather', { city: 'Rome' }, { 'x402/payment': payment })
      expect(paid.isError, 'a model must not take it for the weather').toBe(true)
      expect(paid._meta?.['x402/payment-response']?.success).toBe(true)
      expect(said(paid)).toMatchObject({
        type: 'ResourceResponse',
        resource: { status: 500, body: 'sorry' },
        refund: { state: 'SCHEDULED', when: expect.any(String) },
        statusUrl: expect.stringContaining(`${routes.world.baseUrl}/x402/challenges/`),
      })
    } finally {
      routes.backend.answer = sunny
    }
  })

  test('arguments that make no path of the route are refused before anything is asked', async () => {
    const buyer = await newBuyer()
    const client = await session()
    const unpaid = await client.call('weather', { city: 'Rome' })
    const meta = { 'x402/payment': await payloadFor(buyer, unpaid.structuredContent) }
    for (const args of [
      {},
      { city: '' },
      { city: '..' },
      { city: 'a/b' },
      { city: 'a\\b' },
      { city: '50%' },
      { city: 'a\nb' },
      { city: '\ud800' },
      { city: 7 },
      { city: 'Rome', query: 'units=metric' },
      { city: 'Rome', query: { units: { deep: 1 } } },
      { city: 'Rome', town: 'Rome' },
      { city: 'Rome', requestId: 'a b' },
    ]) {
      const result = await client.call('weather', args, meta)
      expect(result.isError, JSON.stringify(args)).toBe(true)
      expect(said(result)).toMatchObject({
        code: 'INVALID_REQUEST',
        message: expect.stringMatching(/^arguments of weather: .* It takes city, query, requestId\.$/),
      })
    }
    expect(routes.backend.seen).toEqual([])
    expect(await routes.world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })
})

test('routes are no tools unless the seller says so', async () => {
  const routes = await startRoutesWorld({ options: { mcp: true } })
  try {
    const tools = await (await openRaw(routes.world.baseUrl)).tools()
    expect(tools.map(({ name }) => name)).toEqual(['discover_plans', 'request_access'])
  } finally {
    await routes.stop()
  }
})

test('routes that the seller’s own handlers answer cannot be tools: the gateway refuses to start', async () => {
  const opened = createGateway({
    walletAddress: `0x${'12'.repeat(20)}`,
    routes: [{ routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' }],
    tokenSecret: TOKEN_SECRET,
    store: 'memory',
    mcp: { routes: true },
  })
  await expect(opened).rejects.toThrow(/mcp\.routes .*proxyTo or fetchResource/)
})
