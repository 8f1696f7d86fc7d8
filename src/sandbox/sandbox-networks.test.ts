import { expect, test } from 'vitest'
import { chosenNetwork, sandboxNetworks } from './sandbox-networks.ts'

const words = (given?: string) => sandboxNetworks(given).map(({ word }) => word)

test('a sandbox is on Base Sepolia, or on the test networks that are named', () => {
  expect(words()).toEqual(['base-sepolia'])
  expect(words('arbitrum-sepolia, eip155:84532')).toEqual(['arbitrum-sepolia', 'base-sepolia'])
})

test.each([
  [
    'base-sepolia,arbitrum-sepolja',
    '--networks has "arbitrum-sepolja"; it can be base-sepolia, arbitrum-sepolia, celo-sepolia, sei-testnet, several separated by commas.',
  ],
  ['', '--networks has ""; it can be base-sepolia'],
  ['base-sepolia,base', '--networks has "base", whose money is real; it can be base-sepolia'],
  ['testnet,base-sepolia', '--networks names base-sepolia twice; keep it once.'],
])('%j is refused in one line', (given, message) => {
  expect(() => sandboxNetworks(given)).toThrow(message)
})

test('a purchase chooses among the networks of its sandbox', () => {
  const ids = ['eip155:84532', 'eip155:421614']
  expect(chosenNetwork('arbitrum-sepolia', ids).chainId).toBe(421614)
  for (const word of ['base', 'x']) {
    expect(() => chosenNetwork(word, ids)).toThrow(
      `--network is "${word}"; this sandbox sells on base-sepolia, arbitrum-sepolia.`,
    )
  }
})
