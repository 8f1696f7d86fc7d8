import { createConfig, lintFromString } from '@redocly/openapi-core'
import { describe, expect, test } from 'vitest'
import { NETWORKS } from '../../protocol/networks.ts'
import { agentCard } from '../a2a/agent-card.ts'
import { guidance } from './guidance.ts'
import { llmsTxt } from './llms-txt.ts'
import type { Offer } from './offer.ts'
import { openApi } from './openapi.ts'
import { skillsMd } from './skills-md.ts'
import { x402Manifest } from './x402-manifest.ts'

type Sold = Pick<Offer['discovery'], 'plans' | 'routes'>

const [network] = NETWORKS
const fixed = { routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' } as const
const dynamic = { routeId: 'report', method: 'POST', path: '/report', maxAmount: '$1.00' } as const
const metered: Sold['routes'][number] = {
  ...({ routeId: 'chat', method: 'POST', path: '/chat/:model' } as const),
  scheme: 'upto',
  maxAmount: '$0.02',
}
const raw = { ...metered, routeId: 'raw', path: '/raw', raw: true }

function offerOf(sold: Sold): Offer {
  return {
    discovery: {
      ...{ agentName: 'Acme', description: 'Models', walletAddress: `0x${'11'.repeat(20)}` },
      ...{ network: network!.id, chainId: network!.chainId, asset: network!.token.address },
      ...sold,
    },
    ...{ baseUrl: 'https://pay.acme.dev', networks: [network!], servesRoutes: true },
    resourceEndpoint: 'https://pay.acme.dev/resource/{resourceId}',
    ...{ a2a: true, mcp: false, jwks: false, agentVersion: '1.0.0', provider: null },
    contactEmail: 'agents@acme.dev',
  }
}

const mixed = offerOf({
  plans: [{ planId: 'pack', unitAmount: '$1.00' }],
  routes: [metered, raw, fixed, dynamic],
})
const meteredOnly = offerOf({ plans: [], routes: [metered] })

interface Operation {
  summary: string
  'x-payment-info': { price: object; protocols: object[] }
  responses: Record<string, { headers?: object }>
}
const documentOf = (offer: Offer) =>
  openApi(offer) as {
    paths: Record<string, Record<string, Operation>>
    components: {
      schemas: Record<string, object>
      responses: Record<string, { headers?: object }>
      securitySchemes: object
    }
  }

const cardOf = ({ discovery, ...offer }: Offer) =>
  JSON.stringify(
    agentCard({ ...offer, agentName: 'Acme', agentDescription: 'Models' }, discovery, {
      path: '/a2a',
      streaming: false,
    }),
  )

test('the list of resources says a ResourceResponse of wrapped routes alone: of raw ones the backend’s own answer comes', () => {
  const routes = [fixed, { ...fixed, routeId: 'own', path: '/own', raw: true }]
  const wrappedIn = (offer: Offer) =>
    (x402Manifest(offer) as { items: Array<{ output: object }> }).items.map(({ output }) =>
      JSON.stringify(output).includes('ResourceResponse'),
    )
  const offer = offerOf({ plans: [], routes })
  expect(wrappedIn(offer)).toEqual([true, false])
  expect(wrappedIn({ ...offer, servesRoutes: false })).toEqual([false, false])
})

test('the list of resources has the scheme and the maximum of each', () => {
  const { items } = x402Manifest(mixed) as {
    items: Array<{ accepts: Array<{ scheme: string; amount: string; extra: object }> }>
  }
  expect(items.map(({ accepts: [first] }) => [first!.scheme, first!.amount])).toEqual([
    ...[['exact', '1000000']],
    ...[
      ['upto', '20000'],
      ['upto', '20000'],
      ['exact', '10000'],
      ['exact', '1000000'],
    ],
  ])
  expect(items[1]!.accepts[0]!.extra).toEqual({ ...network!.token.domain, assetTransferMethod: 'permit2' })
  expect(items[3]!.accepts[0]!.extra).toEqual({ ...network!.token.domain, paymentFlow: 'upfront' })
})

describe('openapi.json', () => {
  const { paths, components } = documentOf(mixed)
  const operation = paths['/chat/{model}']!.post!

  test('offers a metered call by x402 alone, from nothing to its maximum', () => {
    expect(operation['x-payment-info']).toEqual({
      price: { mode: 'dynamic', currency: 'USD', min: '0.00', max: '0.02' },
      protocols: [{ x402: { scheme: 'upto' } }],
    })
    expect(operation.summary).toBe('POST /chat/:model, metered, at most $0.02 a call')
    expect(paths['/report']!.post!['x-payment-info'].protocols).toEqual([{ x402: {} }, { mpp: {} }].map(any))
  })

  test('says how a metered call may be answered: with no receipt of MPP, and with no refund', () => {
    expect(operation.responses).toHaveProperty('412')
    expect(JSON.stringify(operation.responses['200'])).not.toContain('Payment-Receipt')
    const other = JSON.stringify(paths['/raw']!.post!.responses.default)
    expect(other).toContain('CALL_FAILED')
    expect(other).not.toContain('x-svc-refund')
    expect(paths['/weather']!.get!.responses).not.toHaveProperty('412')
  })

  test('knows the schemes that are sold, and what is signed for each', () => {
    const schemeOf = (offer: Offer) =>
      /"scheme":(\{[^}]*\})/.exec(JSON.stringify(documentOf(offer).components.schemas.PaymentRequired))?.[1]
    expect(schemeOf(mixed)).toBe('{"enum":["exact","upto"]}')
    expect(schemeOf(meteredOnly)).toBe('{"const":"upto"}')
    expect(schemeOf(offerOf({ plans: [], routes: [fixed] }))).toBe('{"const":"exact"}')
    expect(JSON.stringify(components.schemas.PaymentPayload)).toMatch(/validBefore.*permit2Authorization/)
    const alone = documentOf(meteredOnly).components
    expect(JSON.stringify(alone.schemas.PaymentPayload)).not.toContain('validBefore')
    expect(alone.securitySchemes).not.toHaveProperty('mpp')
    expect(alone.responses.E402!.headers).not.toHaveProperty('www-authenticate')
    expect(JSON.stringify(alone.responses.E502)).not.toContain('refund')
  })

  test.each([
    ['mixed', mixed],
    ['metered only', meteredOnly],
  ])('is valid: %s', async (_name, offer) => {
    const config = await createConfig({
      extends: ['recommended'],
      rules: { 'info-license': 'off', 'no-unused-components': 'off' },
    })
    const source = JSON.stringify(openApi(offer))
    expect(await lintFromString({ source, absoluteRef: '/openapi.json', config })).toEqual([])
  })
})

/** Whatever it holds. */
function any(object: object): unknown {
  return Object.fromEntries(Object.keys(object).map((name) => [name, expect.any(Object)]))
}

describe('skills.md', () => {
  test('its example pays a call that its code can pay, and says how the metered ones are paid', () => {
    const text = skillsMd(offerOf({ plans: [], routes: [metered, fixed] }))
    expect(text).toContain('This pays $0.01 for `GET /weather`')
    expect(text).toContain('new ExactEvmScheme(account)')
    expect(text).not.toContain('This pays metered')
    expect(text).toContain(
      "npx paystile buy 'https://pay.acme.dev/chat/YOUR_MODEL' --method POST --max-amount '$0.02' --approve",
    )
    expect(text).toContain('`UptoEvmScheme`')
  })

  test('of metered calls only: no code that cannot pay them, and a whole example that can', () => {
    const text = skillsMd(meteredOnly)
    expect(text).not.toMatch(/pay\.mjs|call-route\.mjs|EIP-3009|MPP|ExactEvmScheme|no ETH is needed/)
    expect(text).toContain('npx paystile buy')
    expect(text).toContain("import { UptoEvmScheme } from '@x402/evm/upto/client'")
    expect(text).toContain('.register("eip155:8453", new UptoEvmScheme(account))')
    expect(text).toContain('0x000000000022d473030f116ddee9f6b43ac78ba3')
  })

  test('of fixed prices only: not a word of metered calls', () => {
    const [text] = skillsMd(offerOf({ plans: [], routes: [fixed] })).split('## Errors')
    expect(text).not.toMatch(/metered|upto|Permit2/i)
  })
})

test('every overview says what is signed for a metered call, and offers MPP for none', () => {
  for (const text of [llmsTxt(mixed), guidance(mixed), skillsMd(mixed)]) {
    expect(text).toMatch(/Permit2/)
    expect(text).toMatch(/Metered calls are paid by x402 only/)
  }
  for (const text of [llmsTxt(meteredOnly), guidance(meteredOnly), cardOf(meteredOnly)]) {
    expect(text).toMatch(/Permit2/)
    expect(text).not.toMatch(/EIP-3009|MPP/)
  }
  expect(cardOf(mixed)).toMatch(/EIP-3009.*Permit2/)
})
