import { expect, test } from 'vitest'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { discoverPlansTool } from './discover-plans-tool.ts'

const [base, testnet, polygon] = ['base', 'base-sepolia', 'polygon'].map((word) => findNetwork(word)!)
const catalog: DiscoveryCatalog = {
  ...{ agentName: 'Acme', description: 'Forecasts', walletAddress: '0x11', asset: '0x22' },
  ...{ network: base!.id, chainId: base!.chainId, plans: [], routes: [] },
}

function answerOf(now: () => DiscoveryCatalog, networks: Parameters<typeof discoverPlansTool>[1]) {
  const tool = discoverPlansTool(now, networks)
  if (tool.kind !== 'free') throw new Error('it must be free')
  return { description: tool.listing.description, text: tool.text }
}

test('the network is a word, and of Base it is the one that it always was', () => {
  const wordOf = (network: typeof base) => JSON.parse(answerOf(() => catalog, [network!]).text()).network
  expect([base, testnet, polygon].map(wordOf)).toEqual(['mainnet', 'testnet', 'polygon'])
})

test('with several networks it names them all, as they stand now', () => {
  const sold = { network: polygon!.id, name: 'Polygon', chainId: 137, asset: '0x33', walletAddress: '0x11' }
  let now: DiscoveryCatalog = { ...catalog, networks: [{ ...sold, available: true }] }
  const { description, text } = answerOf(() => now, [base!, polygon!])
  expect(description).toContain('eip155:137 (Polygon, chain id 137)')
  expect(JSON.parse(text()).networks).toEqual([{ ...sold, available: true }])
  now = { ...catalog, networks: [{ ...sold, available: false, reason: 'no gas' }] }
  expect(JSON.parse(text()).networks[0]).toMatchObject({ available: false, reason: 'no gas' })
})
