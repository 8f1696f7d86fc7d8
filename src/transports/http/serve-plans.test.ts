import { expect, test } from 'vitest'
import { handlerParts } from '../../../test/transports/sample-handler.ts'
import { sampleDialects, sampleOffer, samplePaymentHeader } from '../../../test/transports/sample-x402.ts'
import type { Intent } from '../../engine/outcome.ts'
import { createHttpHandler } from './create-http-handler.ts'
import { servePlans } from './serve-plans.ts'

const paying = { 'payment-signature': samplePaymentHeader({ extra: { challengeId: 'http-1' } }) }

/** A handler that sells one plan at its own address. */
function gateway() {
  const intents: Intent[] = []
  const { fetch } = createHttpHandler({
    engine: {
      offer: () => undefined,
      async purchase(intent) {
        intents.push(intent)
        return { kind: 'challenge', offer: sampleOffer() }
      },
      status: async () => undefined,
    },
    dialects: sampleDialects('https://api.example.com'),
    discovery: { plans: [{ planId: 'basic', unitAmount: '$1.00' }], routes: [] } as never,
    baseUrl: 'https://api.example.com',
    ...handlerParts,
    mounts: [servePlans(['basic'])],
  })
  const send = (method: string, headers: Record<string, string> = {}) =>
    fetch(new Request('http://internal/x402/plans/basic?resourceId=europe', { method, headers }))
  return { send, intents }
}

test('GET asks for the plan, with the payment that it brings', async () => {
  const { send, intents } = gateway()
  expect((await send('GET')).status).toBe(402)
  await send('GET', paying)
  expect(intents).toMatchObject([
    { planId: 'basic', resourceId: 'europe' },
    { planId: 'basic', challengeId: 'http-1', payment: {} },
  ])
})

test('HEAD has the terms of GET and buys nothing: the grant would be in the body that it does not get', async () => {
  const { send, intents } = gateway()
  const terms = await send('HEAD')
  expect([terms.status, terms.headers.has('payment-required'), await terms.text()]).toEqual([402, true, ''])
  const paid = await send('HEAD', paying)
  expect([paid.status, paid.headers.get('x-svc-code')]).toEqual([400, 'INVALID_REQUEST'])
  expect(intents.filter(({ payment }) => payment)).toEqual([])
})
