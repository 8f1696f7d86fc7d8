import { Hono } from 'hono'
import { afterEach, expect, test, vi } from 'vitest'
import { sampleDialects, samplePaymentHeader } from '../../test/transports/sample-x402.ts'
import type { Outcome } from '../engine/outcome.ts'
import { UnavailableError } from '../errors.ts'
import { createChargeRoute } from '../transports/http/charge-route.ts'
import { payPerRequest } from './hono-pay.ts'

const BASE_URL = 'https://api.example'
const HOUR_MS = 3_600_000
const network = 'eip155:84532'
const payment = {
  ...{ txHash: '0xab', explorerUrl: '', payer: '0x1', amount: '1', network },
  ...{ routeId: 'weather', challengeId: 'http-1', requestId: 'r-1' },
}
const notice = { refund: { state: 'SCHEDULED', when: '2026-11-16T10:00:00.000Z' }, statusUrl: '' } as const
const paid: Outcome = { kind: 'paid', payment, settled: { txHash: '0xab', network }, lease: 1, notice }
const headers = { 'payment-signature': samplePaymentHeader({ extra: { challengeId: 'http-1' } }) }

/** A shop whose store does not take the end of a delivery, as often as `failures` says. */
function shop(failures: number) {
  let renewals = 0
  let left = failures
  const chargeRoute = createChargeRoute({
    engine: {
      purchase: async () => paid,
      finish: async () => {
        if (left-- > 0) throw new UnavailableError('the store')
        return undefined
      },
      renew: async () => {
        renewals++
        return true
      },
    },
    dialects: sampleDialects(BASE_URL),
    leaseMs: 90_000,
    baseUrl: BASE_URL,
    discovery: { plans: [], routes: [] },
  })
  return { chargeRoute, renewals: () => renewals }
}

afterEach(() => void vi.useRealTimers())

test('Hono: an answer that is withheld ends the lease of its payment, so that it can be sent again or go back', async () => {
  vi.useFakeTimers()
  const { chargeRoute, renewals } = shop(1)
  const gateway = { chargeRoute, discovery: { routes: [{ routeId: 'weather' }] } } as never
  const app = new Hono().get('/weather', payPerRequest(gateway, 'weather'), (c) => c.json({}))
  expect((await app.request('/weather', { headers })).status).toBe(500)
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(renewals()).toBe(0)
})

test('whoever tells the end again, because the answer is out, keeps the lease until it is heard', async () => {
  vi.useFakeTimers()
  const { chargeRoute, renewals } = shop(2)
  const charged = await chargeRoute(new Request(`${BASE_URL}/weather`, { headers }), 'weather')
  if (charged.kind !== 'paid') throw new Error('expected a paid call')
  for (const held of [0, 1]) {
    await expect(charged.finish(200)).rejects.toThrow('the store')
    expect(renewals()).toBe(held)
  }
  await charged.finish(200)
  expect(renewals()).toBe(2)
  await vi.advanceTimersByTimeAsync(HOUR_MS)
  expect(renewals()).toBe(2)
})
