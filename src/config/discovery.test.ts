import { expect, test } from 'vitest'
import type { Route } from '../protocol/catalog.ts'
import { NETWORKS } from '../protocol/networks.ts'
import { discoveryOf } from './discovery.ts'
import type { ResolvedConfig } from './resolved-config.ts'

const fixed: Route = { routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' }
const metered: Route = { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' }

function refundsOf(routes: Route[], refundWalletPrivateKey: string | null = '0x1') {
  const [network] = NETWORKS
  const config = {
    ...{ agentName: 'Acme', agentDescription: '', baseUrl: 'https://acme.dev', refundMinAgeSeconds: 300 },
    ...{ networks: [{ network, walletAddress: '0x1', refundWalletPrivateKey }], plans: [], routes },
  }
  return discoveryOf(config as unknown as ResolvedConfig).refunds!
}

test('fixed prices: what is not delivered is refunded', () => {
  expect(refundsOf([fixed])).toMatchObject({ policy: 'automatic', callsAfterSeconds: 300 })
  expect(refundsOf([fixed]).description).not.toContain('metered')
})

test('both: a refund of the ones, and nothing charged for the others', () => {
  const { description, callsAfterSeconds } = refundsOf([metered, fixed])
  expect(description).toMatch(/is refunded in full.*Nothing is charged for a metered call that fails/)
  expect(callsAfterSeconds).toBe(300)
})

test.each(['0x1', null])('metered calls only: nothing is charged, so no refund is promised', (key) => {
  const refunds = refundsOf([metered], key)
  expect(refunds.description).toMatch(/^Nothing is charged for a metered call that fails/)
  expect(refunds).not.toHaveProperty('callsAfterSeconds')
})
