import { createConfig, lintFromString } from '@redocly/openapi-core'
import { describe, expect, test } from 'vitest'
import { NETWORKS } from '../../protocol/networks.ts'
import type { Offer } from './offer.ts'
import { openApi } from './openapi.ts'

const [, testnet] = NETWORKS

function offerOf(discovery: Partial<Offer['discovery']> = {}, more: Partial<Offer> = {}): Offer {
  return {
    discovery: {
      agentName: 'Acme "Weather"\n---',
      description: '# Forecasts\n\n`all` of <them>',
      walletAddress: `0x${'11'.repeat(20)}`,
      network: testnet!.id,
      chainId: testnet!.chainId,
      asset: testnet!.token.address,
      plans: [
        { planId: 'basic', unitAmount: '$1.00', description: 'One\nhour' },
        { planId: 'pro', unitAmount: '$2.50' },
      ],
      routes: [
        { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' },
        { routeId: 'rename', method: 'PUT', path: '/weather/:town', unitAmount: '$0.000001' },
        { routeId: 'report:v1', method: 'POST', path: "/it's/(fine)", unitAmount: '$10' },
        { routeId: 'cities', method: 'GET', path: '/cities', free: true },
      ],
      ...discovery,
    },
    baseUrl: 'https://pay.acme.dev',
    networks: [testnet!],
    resourceEndpoint: 'https://pay.acme.dev/resource/{resourceId}',
    servesRoutes: true,
    a2a: true,
    mcp: true,
    jwks: true,
    agentVersion: '1.0.0',
    provider: { organization: 'Acme', url: 'https://acme.dev' },
    contactEmail: 'agents@acme.dev',
    ...more,
  }
}

async function lint(document: object): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended'],
    rules: {
      // The licence of the seller's API is not ours to name.
      'info-license': 'off',
      // OpenAPI has no place for the schema of a header that is a security scheme; PaymentPayload is named in its text.
      'no-unused-components': 'off',
    },
  })
  const source = JSON.stringify(document)
  const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config })
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)
}

interface Described {
  paths: Record<string, Record<string, Record<string, unknown>> & { servers?: unknown; parameters?: unknown }>
}
const described = (offer: Offer) => openApi(offer) as unknown as Described

describe('openapi.json is valid', () => {
  test.each<[string, Offer]>([
    ['with everything on', offerOf()],
    ['with plans only', offerOf({ routes: [] }, { a2a: false, mcp: false, jwks: false, provider: null })],
    ['with routes only', offerOf({ plans: [] })],
    ['embedded below a base path', offerOf({}, { baseUrl: 'https://acme.dev/pay', servesRoutes: false })],
    [
      'with the resource on another host',
      offerOf({}, { resourceEndpoint: 'https://api.acme.dev/v1/{resourceId}' }),
    ],
    [
      'with the resource in a query',
      offerOf({}, { resourceEndpoint: 'https://api.acme.dev/v1?v=2&id={resourceId}' }),
    ],
  ])('%s', async (_name, offer) => {
    expect(await lint(openApi(offer))).toEqual([])
  })
})

describe('openapi.json tells', () => {
  const { paths } = described(offerOf())

  test('the price of every paid route, and its 402', () => {
    expect(paths['/weather/{city}']!.get).toMatchObject({
      'x-payment-info': {
        price: { mode: 'fixed', currency: 'USD', amount: '0.01' },
        protocols: [
          { x402: {} },
          { mpp: { method: 'evm', intent: 'charge', currency: testnet!.token.address } },
        ],
      },
      responses: { '402': {}, '503': {} },
      security: [],
    })
    expect(paths["/it's/(fine)"]!.post).toMatchObject({ 'x-payment-info': { price: { amount: '10.00' } } })
    expect(paths['/cities']!.get).not.toHaveProperty('x-payment-info')
    expect(paths['/cities']!.get).toMatchObject({ security: [] })
  })

  test('two names of one parameter as one path', () => {
    expect(Object.keys(paths)).not.toContain('/weather/{town}')
    expect(paths['/weather/{city}']!.put).toMatchObject({ operationId: 'route.rename' })
  })

  test('what goes into a call and what comes out, where the seller describes it', async () => {
    const inputSchema = {
      type: 'object',
      properties: {
        path: { type: 'object', properties: { city: { type: 'string', minLength: 2 } } },
        query: { type: 'object', properties: { days: { type: 'integer' } }, required: ['days'] },
      },
    }
    const outputSchema = { type: 'object', properties: { sky: { type: 'string' } } }
    const offer = offerOf({}, { schemas: new Map([['weather', { inputSchema, outputSchema }]]) })
    const path = described(offer).paths['/weather/{city}']!
    expect(path.parameters).toEqual([
      { name: 'city', in: 'path', required: true, schema: { type: 'string', minLength: 2 } },
    ])
    expect(path.get!.parameters).toContainEqual({
      name: 'days',
      in: 'query',
      required: true,
      schema: { type: 'integer' },
    })
    const answer = { content: { 'application/json': { schema: outputSchema } } }
    const wrapped = { properties: { resource: { properties: { body: outputSchema } } } }
    expect(path.get).toMatchObject({
      responses: { 200: { content: { 'application/json': { schema: { allOf: [{}, wrapped] } } } } },
    })
    expect(described({ ...offer, servesRoutes: false }).paths['/weather/{city}']!.get).toMatchObject({
      responses: { 200: answer },
    })
    expect(await lint(openApi(offer))).toEqual([])
  })

  test('the range of prices of plans, and each of them as an example', () => {
    expect(paths['/x402/access']!.post).toMatchObject({
      'x-payment-info': { price: { mode: 'dynamic', min: '1.00', max: '2.50' } },
      requestBody: {
        content: { 'application/json': { examples: { 'plan.basic': { value: { planId: 'basic' } } } } },
      },
    })
  })

  test('that the resource of plans wants a bearer, and where it is', () => {
    expect(paths['/resource/{resourceId}']!.get).toMatchObject({ security: [{ apiKey: [] }] })
    const elsewhere = described(offerOf({}, { resourceEndpoint: 'https://api.acme.dev/v1?id={resourceId}' }))
    expect(elsewhere.paths['/v1']).toMatchObject({
      servers: [{ url: 'https://api.acme.dev' }],
      get: { parameters: [{ name: 'id', in: 'query' }] },
    })
  })
})
