import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { NETWORKS } from '../../protocol/networks.ts'
import type { EndpointContext } from '../http/endpoint.ts'
import type { Reply } from '../http/reply.ts'
import { createDocuments, type DocumentConfig } from './create-documents.ts'
import type { Offer } from './offer.ts'

const [mainnet] = NETWORKS

interface Seller {
  agentName?: string
  description?: string
  plan?: string
  route?: string
  config?: Partial<DocumentConfig>
  catalog?: Partial<Offer>
}

function documentsOf({ agentName, description, plan, route, config, catalog }: Seller = {}) {
  const settings: DocumentConfig = {
    baseUrl: 'https://pay.acme.dev',
    networks: [mainnet!],
    resourceEndpoint: 'https://pay.acme.dev/resource/{resourceId}',
    agentVersion: '1.0.0',
    provider: null,
    contactEmail: null,
    a2a: null,
    mcp: null,
    ...config,
  }
  const discovery: Offer['discovery'] = {
    agentName: agentName ?? 'Acme',
    description: description ?? 'Forecasts',
    walletAddress: `0x${'11'.repeat(20)}`,
    network: mainnet!.id,
    chainId: mainnet!.chainId,
    asset: mainnet!.token.address,
    plans: [{ planId: 'basic', unitAmount: '$1.00', description: plan ?? 'One hour' }],
    routes: [
      {
        routeId: 'weather',
        method: 'GET',
        path: '/weather/:city',
        unitAmount: '$0.01',
        description: route ?? 'x',
      },
    ],
  }
  const basePath = new URL(settings.baseUrl).pathname.replace(/\/+$/, '')
  const mounted = createDocuments(settings, { discovery, servesRoutes: true, jwks: false, ...catalog })({
    basePath,
  } as EndpointContext)
  const text = (path: string) => {
    const reply = mounted[path]!.GET!(new Request('http://x'), {}) as Reply
    return reply.body!
  }
  return { paths: Object.keys(mounted), text }
}

/** Everything that a seller could type, or paste. */
const HOSTILE = [
  'a\n---\nname: other\n---\n# Owned',
  '"quotes" and \'others\': {a: 1} # no comment',
  '```\n```js\nthrow 1\n```',
  '`ticks` ``` ~~~ | pipes | <script>alert(1)</script>',
  '[link](https://evil.example) ![image](x) <https://evil.example>',
  '\r\n\u2028\u2029\u0000\u0085## heading',
  '---',
  '- list\n1. list\n> quote',
  '\u202eright to left\u200b\ufeff',
  '\\',
]

describe('texts of the seller', () => {
  const shape = (text: string) => ({
    lines: text.split(/\r\n|[\n\r\u0085\u2028\u2029]/).length,
    headings: text.match(/^#+ .*$/gm)?.length,
    fences: text.match(/^`{3,}.*$/gm)?.length,
    rules: text.match(/^(---|===)/gm)?.length,
    items: text.match(/^- /gm)?.length,
    quotes: text.match(/^> /gm)?.length,
    bars: text.match(/(?<!\\)\|/g)?.length,
    links: text.match(/(?<!\\)\]\(/g)?.length,
  })

  test.each(HOSTILE)('%j breaks no document', (evil) => {
    const [calm, wild] = [
      documentsOf(),
      documentsOf({ agentName: evil, description: evil, plan: evil, route: evil }),
    ]
    for (const path of ['/llms.txt', '/skills.md']) {
      // The front matter is YAML, and looked at below.
      const [was, is] = [calm, wild].map(({ text }) => text(path).replace(/^---\n.*?\n---\n/s, ''))
      expect({ path, ...shape(is!) }).toEqual({ path, ...shape(was!) })
      expect(is).not.toMatch(/(?<!\\)<script/)
      expect(wild.text(path)).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}]|(?!\n)\p{Cc}/u)
    }
    const [, matter] = /^---\n(.*?)\n---\n/s.exec(wild.text('/skills.md'))!
    const front = parse(matter!) as { name: string; description: string }
    expect(Object.keys(front)).toEqual(['name', 'description'])
    expect(front.name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    for (const path of ['/openapi.json', '/.well-known/x402']) {
      const said = JSON.parse(wild.text(path)) as { description?: string; info?: { description: string } }
      expect(said.info?.description ?? said.description).toBe(evil)
    }
  })

  test('the code of the walk-through never holds them', () => {
    const [calm, wild] = [documentsOf(), documentsOf({ agentName: HOSTILE[2]!, description: HOSTILE[2]! })]
    const codeOf = (text: string) => [...text.matchAll(/```js\n(.*?)\n```/gs)].map(([block]) => block)
    expect(codeOf(wild.text('/skills.md'))).toEqual(codeOf(calm.text('/skills.md')))
  })

  test('front matter keeps within what Agent Skills allow', () => {
    const long = documentsOf({ agentName: 'Ünïcode & Söhne '.repeat(20), description: 'é'.repeat(3000) })
    const [, matter] = /^---\n(.*?)\n---\n/s.exec(long.text('/skills.md'))!
    const { name, description } = parse(matter!) as { name: string; description: string }
    expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    expect(name.length).toBeLessThanOrEqual(64)
    expect(description.length).toBeLessThanOrEqual(1024)
    expect(description).toMatch(/Use when you want to buy/)
    expect(documentsOf({ agentName: '天気' }).text('/skills.md')).toMatch(/^---\nname: buy-access\n/)
  })
})

describe('what is switched off', () => {
  const everything = ({ paths, text }: ReturnType<typeof documentsOf>) => paths.map(text).join('\n')

  test('is in no document', () => {
    expect(everything(documentsOf())).not.toMatch(/a2a|agent-card|agent\.json|mcp|jwks/i)
  })

  test('is linked when it is on', () => {
    const all = everything(documentsOf({ config: { a2a: {}, mcp: {} }, catalog: { jwks: true } }))
    for (const path of ['/.well-known/agent-card.json', '/a2a', '/mcp', '/.well-known/jwks.json']) {
      expect(all).toContain(path)
    }
  })
})

describe('places', () => {
  test('below a base path there is no robots.txt, and every link has the path', () => {
    const { paths, text } = documentsOf({ config: { baseUrl: 'https://acme.dev/pay' } })
    expect(paths).not.toContain('/robots.txt')
    expect(text('/skills.md')).toContain('"https://acme.dev/pay/weather/" + encodeURIComponent(values[0])')
    expect(text('/llms.txt')).toContain('https://acme.dev/pay/skills.md')
  })

  test('embedded routes are called on the seller’s server, beside the gateway', () => {
    const { text } = documentsOf({
      config: { baseUrl: 'https://acme.dev/pay' },
      catalog: { servesRoutes: false },
    })
    expect(text('/skills.md')).toContain('"https://acme.dev/weather/" + encodeURIComponent(values[0])')
    const { resources } = JSON.parse(text('/.well-known/x402')) as { resources: string[] }
    expect(resources).toEqual(['https://acme.dev/pay/x402/access', 'https://acme.dev/weather/:city'])
  })

  test('the domain that is signed is that of the network', () => {
    expect(documentsOf().text('/skills.md')).toMatch(/name: "USD Coin", version: "2", chainId: 8453/)
    const testnet = documentsOf({ config: { networks: [NETWORKS[1]!] } })
    expect(testnet.text('/skills.md')).toMatch(/name: "USDC", version: "2", chainId: 84532/)
  })

  test('of several networks, all are named with token and chain id', () => {
    const networks = NETWORKS.filter(({ testnet }) => !testnet).slice(0, 3)
    const { text } = documentsOf({ config: { networks } })
    for (const { id, chainId, token, name } of networks) {
      expect(text('/llms.txt')).toContain(`${id} (${name}, chain id ${chainId})`)
      expect(text('/llms.txt')).toContain(
        `\`${id}\`: ${name}, chain id ${chainId}, USDC \`${token.address}\``,
      )
      expect(text('/skills.md')).toContain(`network: ${JSON.stringify(id)},`)
      expect(text('/skills.md')).toContain(`token \`${token.address}\` on ${name}, chain ${chainId}`)
      expect(text('/skills.md')).toContain(`.register(${JSON.stringify(id)}, new ExactEvmScheme(account))`)
      expect(text('/openapi.json')).toContain(`${id} (${name}, chain id ${chainId})`)
      expect(text('/.well-known/x402')).toContain(id)
    }
    const { Catalog } = JSON.parse(text('/openapi.json')).components.schemas
    expect(Catalog.properties.networks.items.properties).toHaveProperty('minUnitAmount')
    const alone = JSON.parse(documentsOf().text('/openapi.json')).components.schemas.Catalog
    expect(alone.required).not.toContain('networks')
  })
})
