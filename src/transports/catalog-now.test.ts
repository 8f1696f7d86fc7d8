import { expect, test } from 'vitest'
import type { RailState } from '../engine/outcome.ts'
import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import { findNetwork } from '../protocol/networks.ts'
import { createCatalogNow, withoutUrls } from './catalog-now.ts'

const [base, ethereum] = [findNetwork('base')!, findNetwork('ethereum')!]
const wallet = `0x${'11'.repeat(20)}`
const catalog: DiscoveryCatalog = {
  agentName: 'Acme',
  description: 'Forecasts',
  walletAddress: wallet,
  network: base.id,
  chainId: base.chainId,
  asset: base.token.address,
  plans: [
    { planId: 'hour', unitAmount: '$0.04' },
    { planId: 'year', unitAmount: '$90.00' },
  ],
  routes: [
    { routeId: 'now', method: 'GET', path: '/now', unitAmount: '$0.001' },
    { routeId: 'about', method: 'GET', path: '/about', free: true },
  ],
}
const onBoth: DiscoveryCatalog = {
  ...catalog,
  networks: [base, ethereum].map(({ id, name, chainId, token }) => {
    return { network: id, name, chainId, asset: token.address, walletAddress: wallet }
  }),
}
const state = (network: typeof base, change: Partial<RailState> = {}): RailState => ({
  ...{ id: `${network.id}/${network.token.address}/exact`, network, scheme: 'exact' },
  ...{ withdrawn: null, leastAmount: '0' },
  ...change,
})

test('with one network the catalog is as it always was', () => {
  const now = createCatalogNow(catalog, () => [state(base)])
  expect(now()).toBe(catalog)
})

test('with several it says how each of them stands, and what is not sold on it', () => {
  const withdrawn = { reason: 'https://rpc.example/v1/key-123 does not answer', since: 5 }
  const rails = [state(base, { withdrawn }), state(ethereum, { leastAmount: '50000' })]
  const { networks, plans, routes, ...rest } = createCatalogNow(onBoth, () => rails)()
  expect(networks).toEqual([
    { ...onBoth.networks![0], available: false, reason: '(URL) does not answer' },
    { ...onBoth.networks![1], available: true, minUnitAmount: '$0.05' },
  ])
  expect(plans.map(({ notOn }) => notOn)).toEqual([['eip155:1'], undefined])
  expect(routes.map(({ notOn }) => notOn)).toEqual([['eip155:1'], undefined])
  expect(rest).toMatchObject({ network: base.id, chainId: 8453, walletAddress: wallet })
})

test('where test money is free is no secret', () => {
  const said = `the gas wallet is empty. Test ETH is free at ${findNetwork('base-sepolia')!.faucets!.gas}`
  expect(withoutUrls(said)).toBe(said)
})

test('it is made anew only when a rail has changed', () => {
  let rails = [state(base), state(ethereum)]
  const now = createCatalogNow(onBoth, () => rails)
  const before = now()
  rails = [state(base), state(ethereum)]
  expect(now()).toBe(before)
  rails = [state(base), state(ethereum, { leastAmount: '70000' })]
  const dearer = now()
  expect(dearer.networks![1]!.minUnitAmount).toBe('$0.07')
  rails = [state(base), state(ethereum, { withdrawn: { reason: 'the gas wallet is empty', since: 1 } })]
  expect(now().networks![1]).toMatchObject({ available: false, reason: 'the gas wallet is empty' })
})
