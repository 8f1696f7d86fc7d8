import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EMBEDDED } from './frameworks-apps.ts'
import { ROUTES, Seller } from './frameworks-seller.ts'
import { STANDALONE } from './frameworks-standalone.ts'
import { BUYERS, openRaw, said, signatureOf } from './mcp-clients.ts'
import { PRICE, startWorld, TOKEN_SECRET, type World } from './world.ts'

// Express and Hono get their bodies from a parser that has read them already; see frameworks-apps.ts.
describe.each([
  ...EMBEDDED.filter(({ name }) => name !== 'Express 4').map((app) => ({ ...app, basePath: '' })),
  { ...EMBEDDED[1]!, name: 'Express 4 below /pay', basePath: '/pay' },
  { ...STANDALONE, basePath: '' },
])('MCP on $name', ({ prepare, basePath }) => {
  let world: World
  beforeAll(async () => {
    const seller = new Seller()
    const { start, options } = await prepare(seller)
    world = await startWorld({
      basePath,
      serve: (gateway, port) => start({ gateway, seller, basePath, port }),
      options: { mcp: true, agentName: 'Weather', agentDescription: 'Skies', routes: ROUTES, ...options },
    })
  })
  afterAll(() => world.stop())

  test.each(BUYERS)(
    '$name buys once; the same payload again fetches the same grant',
    async ({ open, sign }) => {
      const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
      const books = await world.ledger(buyer)
      const session = await open(world.baseUrl)
      const args = { planId: 'basic' }
      const unpaid = await session.call('request_access', args)
      expect(unpaid.isError).toBe(true)
      const payment = await sign(buyer, unpaid)
      const paid = await session.call('request_access', args, { 'x402/payment': payment })
      const grant = said(paid)
      const requestId = `mcp-${createHash('sha256').update(signatureOf(payment)).digest('hex').slice(0, 32)}`
      expect(paid.isError ?? false, JSON.stringify(paid)).toBe(false)
      expect(grant).toMatchObject({
        type: 'AccessGrant',
        status: 'access_granted',
        tokenType: 'Bearer',
        planId: 'basic',
        resourceId: 'default',
        requestId,
      })
      expect(paid._meta?.['x402/payment-response']).toEqual({
        success: true,
        transaction: grant.txHash,
        network: 'eip155:84532',
        payer: buyer.address.toLowerCase(),
        extensions: {
          'offer-receipt': {
            info: { receipt: { format: 'jws', signature: expect.any(String) } },
            schema: {},
          },
        },
      })
      expect(await world.gateway.verifyBearer(`Bearer ${grant.accessToken}`)).toMatchObject({ ok: true })
      const again = await session.call('request_access', args, { 'x402/payment': payment })
      expect(again.isError ?? false).toBe(false)
      expect(said(again)).toEqual(grant)
      expect(again._meta?.['x402/payment-response']).toEqual(paid._meta?.['x402/payment-response'])
      await session.close()
      expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
    },
  )

  test('GET, HEAD and DELETE are refused as not allowed, whatever they carry', async () => {
    const json = { 'content-type': 'application/json', accept: 'text/event-stream' }
    for (const init of [
      { method: 'GET' },
      { method: 'HEAD' },
      { method: 'DELETE' },
      { method: 'DELETE', headers: json },
      { method: 'DELETE', headers: { ...json, 'mcp-session-id': 'x' }, body: '{}' },
      { method: 'GET', headers: json },
    ]) {
      const response = await fetch(`${world.baseUrl}/mcp`, init)
      expect(response.status, JSON.stringify(init)).toBe(405)
      expect(response.headers.get('allow')).toBe('POST, OPTIONS')
      await response.arrayBuffer()
    }
  })

  test('both descriptors say where it is', async () => {
    for (const path of ['/.well-known/mcp.json', '/.well-known/mcp/server-card.json']) {
      const response = await fetch(world.baseUrl + path)
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({
        name: 'Weather',
        description: 'Skies',
        version: '1.0.0',
        transport: { type: 'streamable-http', url: `${world.baseUrl}/mcp` },
      })
    }
  })

  test('discover_plans is free and says what SPEC.md lists', async () => {
    const session = await openRaw(world.baseUrl)
    const result = await session.call('discover_plans', {})
    expect(result.isError).toBeUndefined()
    expect(said(result)).toEqual({
      agent: 'Weather',
      description: 'Skies',
      network: 'testnet',
      chainId: 84532,
      walletAddress: world.seller.address.toLowerCase(),
      asset: 'USDC',
      plans: [
        { planId: 'basic', unitAmount: '$1.00', description: 'One hour of everything' },
        { planId: 'pro', unitAmount: '$2.50' },
      ],
    })
  })
})

describe('MCP switched off', () => {
  test('answers 404 everywhere and is mentioned nowhere', async () => {
    const world = await startWorld({ options: { tokenSecret: TOKEN_SECRET } })
    try {
      for (const [method, path] of [
        ['POST', '/mcp'],
        ['GET', '/mcp'],
        ['GET', '/.well-known/mcp.json'],
        ['GET', '/.well-known/mcp/server-card.json'],
      ] as const) {
        const response = await fetch(world.baseUrl + path, { method })
        expect(response.status, path).toBe(404)
        const { endpoints } = (await response.json()) as { endpoints: string[] }
        expect(endpoints.join()).not.toContain('mcp')
      }
      const documents = ['/discover', '/llms.txt', '/skills.md', '/openapi.json', '/.well-known/x402']
      for (const path of [...documents, '/.well-known/agent.json', '/robots.txt']) {
        const response = await fetch(world.baseUrl + path)
        expect(response.status, path).toBe(200)
        expect(await response.text(), path).not.toMatch(/mcp/i)
      }
    } finally {
      await world.stop()
    }
  })
})
