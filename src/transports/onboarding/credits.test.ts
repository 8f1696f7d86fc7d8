import { describe, expect, test } from 'vitest'
import { NETWORKS } from '../../protocol/networks.ts'
import { agentCard } from '../a2a/agent-card.ts'
import { llmsTxt } from './llms-txt.ts'
import type { Offer } from './offer.ts'
import { openApi } from './openapi.ts'
import { skillsMd } from './skills-md.ts'

const [network] = NETWORKS
const plan = { planId: 'pack', unitAmount: '$1.00' }
const route = { routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' } as const

function offerOf(sold: Pick<Offer['discovery'], 'plans' | 'routes'>): Offer {
  return {
    discovery: {
      agentName: 'Acme',
      description: 'Forecasts',
      walletAddress: `0x${'11'.repeat(20)}`,
      network: network!.id,
      chainId: network!.chainId,
      asset: network!.token.address,
      ...sold,
    },
    baseUrl: 'https://pay.acme.dev',
    networks: [network!],
    resourceEndpoint: 'https://pay.acme.dev/resource/{resourceId}',
    servesRoutes: true,
    a2a: true,
    mcp: false,
    jwks: false,
    agentVersion: '1.0.0',
    provider: null,
    contactEmail: null,
  }
}

const cardOf = ({ discovery, ...offer }: Offer) =>
  agentCard({ ...offer, agentName: 'Acme', agentDescription: 'Forecasts' }, discovery, {
    path: '/a2a',
    streaming: false,
  })
const textsOf = (offer: Offer) => [
  llmsTxt(offer),
  skillsMd(offer),
  JSON.stringify(openApi(offer)),
  JSON.stringify(cardOf(offer)),
]

describe('a seller with credits', () => {
  const offer = offerOf({
    plans: [{ ...plan, credits: 500 }],
    routes: [{ ...route, description: 'The sky.', credits: 2 }],
  })

  test('tells in every document how they are bought, spent and topped up', () => {
    for (const text of textsOf(offer).slice(0, 3)) {
      for (const word of ['/x402/credits', 'CREDITS_EXHAUSTED', 'topUp', 'Bearer', 'Idempotency-Key'])
        expect(text).toContain(word)
    }
    expect(llmsTxt(offer)).toContain('$1.00 for 500 credits, POST')
    expect(llmsTxt(offer)).toContain('$0.01 or 2 credits, `GET /weather`')
    expect(skillsMd(offer)).toContain('| `pack` | $1.00 | 500 |')
    expect(skillsMd(offer)).toContain('| $0.01 | 2 |')
    expect(JSON.stringify(cardOf(offer))).toContain('https://pay.acme.dev/x402/credits')
  })

  test('has them in openapi.json: no credential beside the payment, how a token pays, the headers, the balance', () => {
    const document = JSON.parse(JSON.stringify(openApi(offer)))
    const { get } = document.paths['/weather']
    expect(get).toMatchObject({
      summary: 'GET /weather for $0.01 a call or 2 credits',
      description:
        'The sky.\n\nA call costs 2 credits instead with Authorization: Bearer and the accessToken of a plan that grants credits.',
      security: [],
      'x-credits': 2,
    })
    expect(Object.keys(get.responses['200'].headers)).toContain('x-svc-credits-remaining')
    expect(get.responses['401']).toBeDefined()
    expect(document.paths['/x402/credits'].get.security).toEqual([{ apiKey: [] }])
    expect(document.components.schemas.CreditBalance.required).toEqual([
      ...['planId', 'resourceId', 'granted', 'spent', 'reserved', 'remaining', 'expiresAt', 'lots'],
    ])
  })
})

test('a seller without credits or computed prices has no word of them', () => {
  const text = textsOf(offerOf({ plans: [plan], routes: [route] })).join('\n')
  expect(text).not.toMatch(/credits?\b|topUp|CREDITS|IDEMPOTENCY_CONFLICT|PRICE_|maxAmount"|dynamic/)
})

test('a plan with credits that no route takes does not tell how to spend them', () => {
  const text = textsOf(offerOf({ plans: [{ ...plan, credits: 5 }], routes: [route] })).join('\n')
  expect(text).not.toContain('/x402/credits')
})
