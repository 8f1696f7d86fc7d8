import { describe, expect, test } from 'vitest'
import { sampleDialects } from '../../test/transports/sample-x402.ts'
import { UNSPOKEN } from '../dialects/mpp/spoken.ts'
import type { Outcome } from '../engine/outcome.ts'
import { NATIVE_BODY } from '../transports/http/native-request.ts'
import { createOutcomeRenderer } from '../transports/http/render-outcome.ts'
import { renderRaw } from '../transports/http/render-raw.ts'
import { jsonReply, toResponse } from '../transports/http/reply.ts'
import { sandboxDocuments } from './sandbox-documents.ts'

const request = new Request('http://localhost/page')
const light = Object.assign(new Request('http://localhost/page'), { [NATIVE_BODY]: undefined })

describe('attack 40: what the backend sends', () => {
  test.each(['text/html', 'image/svg+xml', 'application/xhtml+xml', 'text/xml', 'application/pdf', ''])(
    '%j becomes no document of our origin, and the policy of the backend stays',
    async (type) => {
      const headers = {
        ...(type && { 'content-type': type }),
        'content-security-policy': "default-src 'self'",
      }
      const answer = sandboxDocuments(new Response('<p>', { status: 203, headers }), request)
      expect(answer.headers.get('content-security-policy')).toBe("default-src 'self', sandbox")
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      expect([answer.status, await answer.text()]).toEqual([203, '<p>'])
    },
  )

  test('cannot set the cookie of the operator, nor rules for the whole origin', () => {
    const headers = new Headers({
      'x-own': '1',
      'service-worker-allowed': '/',
      'clear-site-data': '"cookies"',
    })
    for (const cookie of ['a=1', 'svc_admin=x; Path=/admin', '=svc_admin=x', 'b=2'])
      headers.append('set-cookie', cookie)
    const answer = sandboxDocuments(new Response('', { headers }), request)
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(answer.headers.get('x-own')).toBe('1')
    for (const name of ['service-worker-allowed', 'clear-site-data'])
      expect(answer.headers.has(name)).toBe(false)
  })

  test('is never a service worker', async () => {
    const asking = new Request('http://localhost/sw.js', { headers: { 'service-worker': 'script' } })
    const headers = { 'content-type': 'text/javascript' }
    expect(sandboxDocuments(new Response('', { headers }), asking).status).toBe(403)
  })

  test('is checked on a raw route, too', () => {
    const raw = { status: 200, headers: [['content-type', 'text/html']], body: Buffer.from('<p>') }
    const settled = { txHash: '0xab', network: 'eip155:84532' }
    const outcome = { kind: 'resource', raw, response: {}, settled, cached: false } as unknown as Outcome
    const page = renderRaw(
      outcome,
      createOutcomeRenderer(sampleDialects('http://localhost'), 'http://localhost'),
      UNSPOKEN,
    )
    const answer = sandboxDocuments(toResponse(page, light), light)
    expect(answer.headers.get('content-security-policy')).toBe('sandbox')
    expect(answer.headers.get('payment-response')).toBe(page.headers['payment-response'])
    const json = { ...page, headers: { 'content-type': 'application/json' } }
    expect(sandboxDocuments(toResponse(json, light), light).headers.get('x-content-type-options')).toBe(
      'nosniff',
    )
  })

  test('is checked when it is plain data, too', () => {
    const page = toResponse({ status: 200, headers: { 'content-type': 'text/html' }, body: '<p>' }, light)
    expect(sandboxDocuments(page, light).headers.get('content-security-policy')).toBe('sandbox')
    const cookie = { 'content-type': 'application/json', 'set-cookie': 'svc_admin=x' }
    expect(
      sandboxDocuments(toResponse(jsonReply(200, cookie, {}), light), light).headers.getSetCookie(),
    ).toEqual([])
  })
})

test('an answer of the gateway itself is passed on unchanged', () => {
  const offer = toResponse(jsonReply(402, { 'content-type': 'application/json' }, {}), light)
  expect(sandboxDocuments(offer, light)).toBe(offer)
})
