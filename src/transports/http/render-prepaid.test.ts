import { expect, test } from 'vitest'
import { sampleDialects } from '../../../test/transports/sample-x402.ts'
import type { PrepaidOutcome } from '../../engine/outcome.ts'
import { createOutcomeRenderer } from './render-outcome.ts'
import { renderPrepaid } from './render-prepaid.ts'

const BASE_URL = 'https://api.example.com'
const render = createOutcomeRenderer(sampleDialects(BASE_URL), BASE_URL, {
  discovery: { plans: [], routes: [] } as never,
})
const resource = { status: 504, body: { error: 'the backend took longer than 1 s' } }
const facts = { challengeId: 'http-1', requestId: 'r-1', routeId: 'weather', explorerUrl: '' }
const unanswered: Extract<PrepaidOutcome, { kind: 'prepaid' }> = {
  kind: 'prepaid',
  cached: false,
  response: { type: 'ResourceResponse', ...facts, txHash: '0xab', resource },
  failure: 'the backend took longer than 1 s',
  debit: { planId: 'basic', charged: 0, remaining: 5 },
}

test('a raw route without a usable answer: an error that says that nothing was debited', () => {
  const { status, headers, body } = renderPrepaid(unanswered, true, render, {} as never)
  expect(status).toBe(504)
  expect(headers).toMatchObject({ 'x-svc-code': 'DELIVERY_FAILED', 'x-svc-credits-charged': '0' })
  expect(JSON.parse(String(body))).toMatchObject({
    ...{ type: 'Error', code: 'DELIVERY_FAILED', retryable: true },
    message: 'The call was not answered: the backend took longer than 1 s. Nothing was debited.',
    credits: { charged: 0, remaining: 5 },
  })
})

test('of another route the failure is told in the answer', () => {
  const { status, headers, body } = renderPrepaid(unanswered, false, render, {} as never)
  expect([status, headers['x-svc-code']]).toEqual([200, 'DELIVERY_FAILED'])
  expect(JSON.parse(String(body))).toMatchObject({ type: 'ResourceResponse', resource: { status: 504 } })
})
