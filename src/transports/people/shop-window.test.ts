import { expect, test } from 'vitest'
import { NETWORKS } from '../../protocol/networks.ts'
import { readyTexts, type TextParts } from './shop-texts.ts'
import { createShopWindow, type ShopWindow } from './shop-window.ts'

const [base, sepolia] = NETWORKS
const parts: Parameters<typeof createShopWindow>[0] = {
  discovery: {
    agentName: 'Weather API',
    description: 'Forecasts',
    walletAddress: `0x${'11'.repeat(20)}`,
    network: base!.id,
    chainId: base!.chainId,
    asset: base!.token.address,
    plans: [{ planId: 'many', unitAmount: '$5.00', credits: 1000, description: 'A thousand calls' }],
    routes: [
      { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', credits: 1 },
      { routeId: 'today', method: 'GET', path: '/today', unitAmount: '$0.02' },
      { routeId: 'ask', method: 'POST', path: '/ask', maxAmount: '$2.00' },
      { routeId: 'cities', method: 'GET', path: '/cities', free: true },
    ],
  },
  baseUrl: 'https://api.example.com/pay',
  networks: [base!],
  resourceEndpoint: 'https://api.example.com/pay/resource/{resourceId}',
  servesRoutes: true,
  a2a: true,
  mcp: true,
  jwks: false,
  agentVersion: '1.0.0',
  provider: null,
  contactEmail: null,
  documents: true,
  seller: { name: 'Weather API', logoUrl: null, color: null },
  sellsPlansByHand: true,
}
const page = (window: ShopWindow, headers: Record<string, string> = {}, method = 'GET') =>
  window(new Request('https://api.example.com/pay/', { method, headers }))
const bodyOf = (more: Partial<typeof parts>): string => page(createShopWindow({ ...parts, ...more })).body!

test('the code for a metered call signs a maximum, and the call is not opened in a browser', () => {
  const chat = { routeId: 'chat', method: 'GET', path: '/chat', scheme: 'upto', maxAmount: '$0.02' } as const
  const only = { discovery: { ...parts.discovery, plans: [], routes: [chat] } }
  const texts = readyTexts({ ...parts, ...only } as TextParts)
  expect(texts.at(-1)?.text).toContain(`import { UptoEvmScheme } from '@x402/evm/upto/client'`)
  expect(bodyOf(only)).not.toContain('Open and pay with a wallet')
  expect(bodyOf(only)).toContain('metered, at most $0.02')
})

test('it says what is sold, for how much, on which networks, and how to buy', () => {
  const body = bodyOf({ networks: [base!, NETWORKS.find(({ word }) => word === 'polygon')!] })
  for (const words of [
    '$5.00 for 1000 credits',
    'A thousand calls',
    '$0.01 or 1 credit',
    'dynamic, at most $2.00',
  ])
    expect(body).toContain(words)
  for (const words of ['USDC on Base<br>USDC on Polygon', 'GET /cities', 'pays for calls in advance'])
    expect(body).toContain(words)
  expect(body).toContain('npx paystile buy https://api.example.com/pay')
  expect(body).toContain('<a href="https://api.example.com/pay/today">Open and pay with a wallet</a>')
  expect(body).toMatch(
    /<a href="https:\/\/api\.example\.com\/pay\/x402\/plans\/[^"]+" aria-label="Buy with a wallet: /,
  )
  expect(body, 'an address with a parameter cannot be opened as it stands').not.toContain(
    'href="https://api.example.com/pay/weather',
  )
})

test('test money is named as such', () => {
  expect(bodyOf({ networks: [sepolia!] })).toContain('USDC on Base Sepolia (test money)')
})

test('whoever has the page is told so, and HEAD has no body', () => {
  const window = createShopWindow(parts)
  const { status, headers } = page(window)
  expect(status).toBe(200)
  const etag = headers.etag!
  expect(page(window, { 'if-none-match': etag })).toMatchObject({
    status: 304,
    body: null,
    headers: { etag },
  })
  expect(page(window, { 'if-none-match': `"x", W/${etag}` }).status).toBe(304)
  expect(page(window, { 'if-none-match': '"x"' }).status).toBe(200)
  expect(page(window, {}, 'HEAD')).toMatchObject({ status: 200, body: null })
  expect(page(createShopWindow({ ...parts, baseUrl: 'https://other.example' })).headers.etag).not.toBe(etag)
})

test('nothing that the seller writes becomes HTML', () => {
  const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>\''
  const { discovery } = parts
  const body = bodyOf({
    discovery: {
      ...discovery,
      agentName: evil,
      description: evil,
      plans: [{ planId: 'p', unitAmount: '$1.00', description: evil }],
      routes: [{ routeId: 'r', method: 'GET', path: `/${evil}`, unitAmount: '$1.00', description: evil }],
    },
    provider: { organization: evil, url: `javascript:${evil}` },
    contactEmail: evil,
    seller: { name: evil, logoUrl: '/logo.svg?"', color: '#ffffff' },
  })
  expect(body.match(/<script/g), 'its own').toHaveLength(1)
  expect(body.match(/<img /g), 'the logo').toEqual(['<img '])
  expect(body).not.toMatch(/href="javascript:/)
  expect(body).toContain('src="/logo.svg?&quot;"')
})

test('only its own script and style are allowed, pictures from the logo’s host, and no frame around it', () => {
  const seller = { name: 'x', logoUrl: 'https://cdn.example/logo.svg', color: '#123456' }
  const policy = page(createShopWindow({ ...parts, seller })).headers['content-security-policy']!
  expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+';/)
  expect(policy).toContain("img-src 'self' https://cdn.example;")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
})

test('the texts to copy leave out what is switched off, and the code has twelve lines', () => {
  const titles = (more: Partial<TextParts>) => readyTexts({ ...parts, ...more }).map(({ title }) => title)
  expect(titles({})).toEqual([
    'For an agent',
    'MCP: most clients',
    'MCP: VS Code',
    'MCP: Claude Code',
    'An assistant that pays',
    'In a terminal',
    'In code',
  ])
  expect(titles({ mcp: false })).toEqual([
    'For an agent',
    'An assistant that pays',
    'In a terminal',
    'In code',
  ])
  const textOf = (title: string, more: Partial<TextParts> = {}) =>
    readyTexts({ ...parts, ...more }).find((ready) => ready.title === title)!.text
  expect(textOf('For an agent')).toContain('https://api.example.com/pay/skills.md')
  expect(textOf('For an agent', { documents: false })).toContain('https://api.example.com/pay/discover')
  expect(textOf('In code').split('\n')).toHaveLength(12)
  expect(textOf('In code')).toContain('pay("https://api.example.com/pay/weather/YOUR_CITY")')
  const plansOnly = { ...parts.discovery, routes: [] }
  const bridgeArgs = (more: Partial<TextParts> = {}) =>
    Object.values(
      JSON.parse(textOf('An assistant that pays', more)).mcpServers as Record<string, { args: string[] }>,
    )[0]!.args.join(' ')
  expect(bridgeArgs()).toBe(
    '-y paystile bridge https://api.example.com/pay --max-amount $0.01 --max-total $5.00 --confirm --key-file /path/to/your/key',
  )
  const dear = [{ planId: 'dear', unitAmount: '$20.00' }]
  expect(bridgeArgs({ discovery: { ...plansOnly, plans: dear } })).toContain(
    '--max-amount $20.00 --max-total $20.00',
  )
  expect(textOf('In code', { discovery: plansOnly })).toContain('{"planId":"many"}'.replaceAll('"', '\\"'))
})
