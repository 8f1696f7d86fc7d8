import { expect, test } from 'vitest'
import { findNetwork } from '../../protocol/networks.ts'
import { describeNetworks } from './describe-networks.ts'

const [base, polygon] = [findNetwork('base')!, findNetwork('polygon')!]

test('every network is shown with its state and its sales, those of earlier times last', () => {
  const state = (network: typeof base) => ({ id: network.id, network, scheme: 'exact' })
  const rails = () => [
    {
      ...state(base),
      withdrawn: { reason: 'https://rpc.example/key does not answer', since: 0 },
      leastAmount: '0',
    },
    { ...state(polygon), withdrawn: null, leastAmount: '20000' },
  ]
  const sold = [
    { network: polygon.id, sold: 3, micro: '900000', usd: '$0.90' },
    { network: 'eip155:1', sold: 1, micro: '500000', usd: '$0.50' },
    { network: 'eip155:5', sold: 1, micro: '1', usd: '$0.000001' },
  ]
  expect(describeNetworks({ networks: [base, polygon], rails }, sold)).toEqual([
    {
      ...{
        network: 'eip155:8453',
        name: 'Base',
        token: 'USDC',
        coin: 'ETH',
        configured: true,
        leastUsd: null,
      },
      withdrawn: { reason: '(URL) does not answer', since: '1970-01-01T00:00:00.000Z' },
      ...{ sold: 0, micro: '0', usd: '$0.00' },
    },
    {
      ...{ network: 'eip155:137', name: 'Polygon', token: 'USDC', coin: 'POL', configured: true },
      ...{ withdrawn: null, leastUsd: '$0.02', sold: 3, micro: '900000', usd: '$0.90' },
    },
    {
      ...{ network: 'eip155:1', name: 'Ethereum', token: 'USDC', coin: 'ETH', configured: false },
      ...{ withdrawn: null, leastUsd: null, sold: 1, micro: '500000', usd: '$0.50' },
    },
    {
      ...{ network: 'eip155:5', name: 'eip155:5', token: '', coin: '', configured: false },
      ...{ withdrawn: null, leastUsd: null, sold: 1, micro: '1', usd: '$0.000001' },
    },
  ])
})
