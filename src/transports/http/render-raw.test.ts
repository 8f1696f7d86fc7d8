import { expect, test } from 'vitest'
import { sampleDialects } from '../../../test/transports/sample-x402.ts'
import { UNSPOKEN } from '../../dialects/mpp/spoken.ts'
import type { Outcome } from '../../engine/outcome.ts'
import { decodeJsonObject } from '../../protocol/base64.ts'
import { receiptExtension } from '../../protocol/receipts.ts'
import { createOutcomeRenderer } from './render-outcome.ts'
import { rawReply, renderRaw } from './render-raw.ts'
import { toResponse } from './reply.ts'

const baseUrl = 'https://shop.example/pay'
const render = createOutcomeRenderer(sampleDialects(baseUrl), baseUrl)

test('a raw answer names its receipt in headers, whatever the backend said of one', () => {
  const headers = [
    ['content-type', 'text/csv'],
    ['x-svc-receipt-url', 'https://evil.example/'],
  ]
  const outcome = {
    kind: 'resource',
    raw: { status: 200, headers, body: Buffer.from('a,b') },
    response: { challengeId: 'http-1', requestId: 'r-1', txHash: '0xab' },
    settled: { txHash: '0xab', network: 'eip155:84532', receipt: 'a.b.c' },
    cached: false,
  } as unknown as Outcome
  const answer = renderRaw(outcome, render, UNSPOKEN)
  expect(answer.headers['x-svc-receipt-url']).toBe('https://shop.example/pay/receipts/http-1')
  expect(decodeJsonObject(answer.headers['payment-response']!)).toMatchObject({
    extensions: receiptExtension('a.b.c'),
  })
})

test('a raw answer keeps its bytes, joins what came twice, and never loses a header to its letters', async () => {
  const headers: Array<[string, string]> = [
    ['link', '</a>'],
    ['link', '</b>'],
    ['x-city', 'Łódź'],
  ]
  const bytes = Buffer.from([0, 200, 255])
  const reply = rawReply({ status: 200, headers, body: bytes }, { 'x-svc-credits-charged': '1' })
  expect(reply).toEqual({
    status: 200,
    headers: {
      link: '</a>, </b>',
      'x-city': Buffer.from('Łódź').toString('latin1'),
      'x-svc-credits-charged': '1',
    },
    body: null,
    bytes,
  })
  const response = toResponse(reply, new Request('http://localhost/'))
  expect(response.headers.get('content-length')).toBe('3')
  expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes)
  expect(rawReply({ status: 204, headers: [], body: Buffer.alloc(0) }, {})).toEqual({
    status: 204,
    headers: {},
    body: null,
  })
})
