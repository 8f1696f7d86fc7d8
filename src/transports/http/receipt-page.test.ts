import { describe, expect, test } from 'vitest'
import { SEALED, sampleShop } from '../../../test/transports/sample-purchases.ts'
import { didDocumentPaths, didOf } from '../../receipts/did-web.ts'
import type { HttpHandlerOptions } from './create-http-handler.ts'

const baseUrl = 'https://shop.example'
const HTML = 'text/html,application/xhtml+xml,*/*;q=0.8'

function visit(path: string, accept = HTML, options: Partial<HttpHandlerOptions> = {}, method = 'GET') {
  const { fetch } = sampleShop(baseUrl, options)
  return fetch(new Request(baseUrl + path, { method, headers: { accept } }), { address: '9.9.9.9' })
}

describe('the page of a purchase', () => {
  test('shows what was bought and paid, escaped, and never what was delivered', async () => {
    const answer = await visit('/receipts/paid')
    expect(answer.status).toBe(200)
    const text = await answer.text()
    for (const words of [
      'Paid and delivered.',
      '$1.25',
      'USDC on Base Sepolia (test money, eip155:84532)',
      'One hour of &lt;b&gt;forecasts&lt;/b&gt; &amp; maps',
    ])
      expect(text).toContain(words)
    expect(text).not.toContain('<b>')
    expect(text).not.toContain(SEALED)
  })

  test.each(['paid', 'refunded', 'unpaid', 'unknown'])(
    'is kept by no cache and no index, and runs nothing: %s',
    async (id) => {
      const { headers } = await visit(`/receipts/${id}`)
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(headers.get('cache-control')).toBe('no-store, private')
      expect(headers.get('x-robots-tag')).toBe('noindex, nofollow')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('vary')).toContain('accept')
      const policy = headers.get('content-security-policy')
      expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'/)
      expect(policy).toContain("frame-ancestors 'none'")
      expect(headers.has('access-control-allow-origin'), 'no script of another page reads it').toBe(false)
    },
  )

  test.each([
    ['/logo.svg', "'self'"],
    ['https://cdn.example/logo.png', 'https://cdn.example'],
  ])('shows the seller’s logo %s, and may load nothing else', async (logo, source) => {
    const { fetch } = sampleShop(baseUrl, {}, logo)
    for (const id of ['paid', 'unknown']) {
      const answer = await fetch(new Request(`${baseUrl}/receipts/${id}`, { headers: { accept: HTML } }), {})
      expect(await answer.text()).toContain(`<img src="${logo}" alt=""><span>Weather &amp; Co</span>`)
      const policy = answer.headers.get('content-security-policy')
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain(`; img-src ${source};`)
    }
  })

  test('of a challenge that nobody has paid says so, and names no payer', async () => {
    const answer = await visit('/receipts/unpaid')
    expect(answer.status).toBe(200)
    const text = await answer.text()
    expect(text).toContain('Not paid: nothing has been charged.')
    expect(text).not.toContain('Payer')
  })

  test('of a metered call says what was charged, and of how much', async () => {
    const text = await (await visit('/receipts/metered')).text()
    expect(text).toContain('<p class="price">$0.001858</p>')
    expect(text).toContain('<dt>Charged</dt><dd>$0.001858 of at most $1.25</dd>')
    expect(text).toContain('Paid and delivered.')
    expect(await (await visit('/receipts/paid')).text()).not.toContain('Charged')
  })

  test('of a metered call that cost nothing shows it whole, and says that nothing was charged', async () => {
    const text = await (await visit('/receipts/free')).text()
    expect(text).toContain('<h1>One city</h1>')
    expect(text).toContain('<dt>Charged</dt><dd>$0.00 of at most $1.25</dd>')
    expect(text).toContain('Delivered. The call cost nothing, so nothing was charged.')
    expect(text).not.toMatch(/<dt>Paid|Paid and delivered|<dt>Payment/)
    const body = (await (await visit('/receipts/free', 'application/json')).json()) as object
    expect(body).toMatchObject({
      ...{ state: 'DELIVERED', price: '$0.00', maximum: '$1.25', item: { id: 'weather' } },
      deliveredAt: expect.any(String),
    })
    expect(body).not.toHaveProperty('transaction')
    expect(body).not.toHaveProperty('paidAt')
  })

  test('of an unknown id is a 404 that says what to do', async () => {
    const answer = await visit('/receipts/unknown')
    expect(answer.status).toBe(404)
    expect(await answer.text()).toContain('Copy it whole')
  })

  test('by HEAD has no body', async () => {
    const answer = await visit('/receipts/paid', HTML, {}, 'HEAD')
    expect([answer.status, await answer.text()]).toEqual([200, ''])
  })

  test('is JSON for programs that ask for it, and for browsers never', async () => {
    const answer = await visit('/receipts/refunded', 'application/json')
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('cache-control')).toBe('no-store, private')
    const body = (await answer.json()) as Record<string, unknown>
    expect(body).toMatchObject({
      ...{ type: 'Purchase', challengeId: 'refunded', state: 'REFUNDED', price: '$1.25' },
      transaction: { hash: `0x${'ab'.repeat(32)}` },
      refundTransaction: { hash: `0x${'cd'.repeat(32)}` },
      refundReceipt: expect.stringMatching(/^eyJb/),
    })
    expect(body).not.toHaveProperty('receipt')
    const unpaid = await visit('/receipts/unpaid', 'application/json')
    expect(await unpaid.json()).toMatchObject({ state: 'PENDING', challengeId: 'unpaid' })
    const unknown = await visit('/receipts/unknown', 'application/json')
    expect([unknown.status, unknown.headers.get('x-svc-code')]).toEqual([404, 'CHALLENGE_NOT_FOUND'])
    const both = await visit('/receipts/paid', 'text/html, application/json')
    expect(both.headers.get('content-type')).toContain('text/html')
  })

  test('counts against the rate limit', async () => {
    const rateLimit = () => ({ ok: false, retryAfterSeconds: 9 }) as const
    const answer = await visit('/receipts/paid', HTML, { rateLimit })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '9'])
    expect(await answer.text()).not.toContain('Paid and delivered.')
  })

  test('on a host that is shared belongs to the host, unless the id has the form of ours', async () => {
    const { handle } = sampleShop(baseUrl)
    expect(await handle(new Request(`${baseUrl}/receipts/2026-01.pdf`))).toBeUndefined()
  })
})

test.each([
  ['https://shop.example', 'did:web:shop.example', ['/.well-known/did.json']],
  [
    'https://shop.example/pay/v1',
    'did:web:shop.example:pay:v1',
    ['/pay/v1/did.json', '/pay/v1/.well-known/did.json'],
  ],
])('the keys of %s are where did:web looks for them', async (base, did, places) => {
  const didPaths = didDocumentPaths(base)
  const page = () => Promise.reject(new Error('not asked here'))
  const { fetch } = sampleShop(base, { receipts: { page, didDocument: { id: didOf(base) }, didPaths } })
  for (const place of places) {
    const answer = await fetch(new Request(`https://shop.example${place}`))
    expect(await answer.json()).toEqual({ id: did })
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  }
})
