import { expect, test } from 'vitest'
import { sampleDialects } from '../../../test/transports/sample-x402.ts'
import { UNSPOKEN } from '../../dialects/mpp/spoken.ts'
import type { Outcome } from '../../engine/outcome.ts'
import { decodeJsonObject } from '../../protocol/base64.ts'
import { receiptExtension } from '../../protocol/receipts.ts'
import { createOutcomeRenderer } from './render-outcome.ts'
import { renderRaw } from './render-raw.ts'

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
  const answer = renderRaw(outcome, render, UNSPOKEN) as Response
  expect(answer.headers.get('x-svc-receipt-url')).toBe('https://shop.example/pay/receipts/http-1')
  expect(decodeJsonObject(answer.headers.get('payment-response')!)).toMatchObject({
    extensions: receiptExtension('a.b.c'),
  })
})
