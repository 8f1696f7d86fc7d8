import { expect, test } from 'vitest'
import { encodeJson } from '../../protocol/base64.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import type { Reply } from '../http/reply.ts'
import { createPaymentPage } from './payment-page.ts'
import { isNavigation } from './wants-page.ts'

const CHROME = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8'
const asked = (headers: Record<string, string>, method = 'GET') =>
  isNavigation(new Request('https://shop.example/weather', { method, headers }))

test('a browser that opens an address is told from its scripts, and from agents', () => {
  expect(asked({ accept: CHROME, 'sec-fetch-mode': 'navigate' })).toBe(true)
  expect(asked({ accept: CHROME }), 'on plain http').toBe(true)
  expect(asked({ accept: CHROME, 'sec-fetch-mode': 'cors' }), 'a script').toBe(false)
  expect(asked({ accept: '*/*', 'sec-fetch-mode': 'navigate' })).toBe(false)
  expect(asked({ accept: 'text/markdown, text/html, */*' }), 'an agent that reads pages').toBe(false)
  expect(asked({ accept: 'application/json, text/html' })).toBe(false)
  expect(asked({ accept: '*/*' })).toBe(false)
  expect(asked({})).toBe(false)
  expect(asked({ accept: CHROME, 'sec-fetch-mode': 'navigate' }, 'POST')).toBe(false)
})

const evil = '</script><script>alert(1)</script><!--"\''
const network = { ...NETWORKS[1]!, rpcUrls: ['https://node.example/secret-key'] }
const terms = (description: string, units = '10000') => ({
  x402Version: 2,
  resource: { url: `https://shop.example/weather?q=${evil}`, method: 'GET', description, mimeType: 'x' },
  accepts: [{ network: network.id, amount: units }],
})
const challenge = (value: object): Reply => ({
  status: 402,
  headers: { 'content-type': 'application/json', 'payment-required': encodeJson(value), 'x-more': 'y' },
  body: '{}',
})
const parts = {
  seller: { name: evil, logoUrl: null, color: null },
  networks: [network],
  refunds: { policy: 'automatic', description: 'x', statusUrl: 'x' },
  shopUrl: 'https://shop.example/',
  bundle: 'run()',
} as const

test('the page is the same 402 with the same headers, and tells price and purpose without a script', () => {
  const { status, headers, body } = createPaymentPage(parts).show(challenge(terms('One city')))
  expect(status).toBe(402)
  expect(headers).toMatchObject({
    'payment-required': encodeJson(terms('One city')),
    'x-more': 'y',
    'content-type': 'text/html; charset=utf-8',
  })
  expect(body).toContain('<h1>One city</h1>')
  expect(body).toContain('$0.01 <small>USDC on Base Sepolia (test money)</small>')
  expect(headers['content-security-policy']).not.toContain('unsafe')
  expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
})

test.each([
  ['1', '$0.000001'],
  ['10000', '$0.01'],
  ['1500000', '$1.50'],
  ['1000000000', '$1000.00'],
])('%s units are %s', (units, price) => {
  expect(createPaymentPage(parts).show(challenge(terms('x', units))).body).toContain(`>${price} <small>`)
})

test('no text ends an element, and the seller’s own nodes are not told', () => {
  const body = createPaymentPage(parts).show(challenge(terms(evil))).body!
  expect(body.match(/<script/g), 'the data and the script').toHaveLength(2)
  expect(body).not.toContain('<!--')
  const data = JSON.parse(/<script type="application\/json" id="offer">(.*?)<\/script>/.exec(body)![1]!)
  expect(data.terms).toEqual(terms(evil))
  expect(body).not.toContain('secret-key')
  expect(data.networks[0].rpcUrls).toEqual(NETWORKS[1]!.rpcUrls)
})

test('a metered call is shown with its maximum and a command, and no script takes a payment for it', () => {
  const metered = terms('Ask a model', '20000')
  const accepts = metered.accepts.map((entry) => ({ ...entry, scheme: 'upto' }))
  const { body, headers } = createPaymentPage(parts).show(challenge({ ...metered, accepts }))
  expect(body).toContain('up to $0.02 <small>')
  expect(body).toContain('--max-amount &#39;$0.02&#39;')
  expect(body).not.toContain('<script')
  expect(headers['payment-required']).toBeDefined()
})

test('a 402 without terms is left as it is', () => {
  const reply: Reply = { status: 402, headers: {}, body: 'x' }
  expect(createPaymentPage(parts).show(reply)).toBe(reply)
})
