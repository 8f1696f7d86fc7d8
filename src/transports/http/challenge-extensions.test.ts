import { expect, test } from 'vitest'
import type { RefundTerms } from '../../protocol/catalog.ts'
import { challengeExtensions } from './challenge-extensions.ts'

const refunds: RefundTerms = {
  policy: 'automatic',
  description: 'It is refunded.',
  callsAfterSeconds: 300,
  statusUrl: 'https://acme.dev/x402/challenges/{challengeId}',
}
const routes = [
  { routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' },
  { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' },
  { routeId: 'raw', method: 'POST', path: '/raw', scheme: 'upto', maxAmount: '$0.02', raw: true },
] as const

function svcOf(itemId: string, embedded = false) {
  const discovery = { plans: [], routes: [...routes], refunds }
  const { bodyJson } = challengeExtensions('https://acme.dev', { embedded, discovery, perOffer: [] })
  const { svc } = JSON.parse(bodyJson({ kind: 'route', itemId }).json) as {
    svc: { description: string; outputSchema: { properties?: object }; refunds: object }
  }
  return svc
}

test.each([
  ['chat', false],
  ['raw', false],
  ['chat', true],
])(
  'the 402 of the metered route %s (embedded: %s) asks for a Permit2 signature, and promises no refund',
  (itemId, embedded) => {
    const { description, refunds: promised, outputSchema } = svcOf(itemId, embedded)
    expect(description).toMatch(/Permit2.*scheme upto.*most that the call may cost.*permit2Authorization/)
    expect(description).not.toContain('EIP-3009')
    expect(promised).toEqual({
      ...{ policy: 'automatic', statusUrl: refunds.statusUrl },
      description: expect.stringContaining('Nothing is charged for a metered call that fails'),
    })
    expect(outputSchema.properties ?? {}).not.toHaveProperty('refund')
  },
)

test('the 402 of a fixed price asks for EIP-3009, and promises the refund', () => {
  const { description, refunds: promised } = svcOf('weather')
  expect(description).toContain('Sign the EIP-3009 authorization that accepts[0] asks for')
  expect(promised).toEqual(refunds)
})
