import type { Network } from '../protocol/network.ts'
import { findNetwork, NETWORKS } from '../protocol/networks.ts'

/**
 * The networks of `--networks base-sepolia,arbitrum-sepolia`; Base Sepolia without it. Only test networks: keys and
 * money of a sandbox are worthless, and nothing here should look like the real thing.
 */
export function sandboxNetworks(given: string | undefined): [Network, ...Network[]] {
  if (given === undefined) return [findNetwork('base-sepolia')!]
  const words = NETWORKS.filter(({ testnet }) => testnet).map(({ word }) => word)
  const possible = `it can be ${words.join(', ')}, several separated by commas`
  const networks: Network[] = []
  for (const word of given.split(',').map((one) => one.trim())) {
    const network = findNetwork(word)
    if (!network) throw new Error(`--networks has ${JSON.stringify(word)}; ${possible}.`)
    if (!network.testnet) {
      throw new Error(`--networks has ${JSON.stringify(word)}, whose money is real; ${possible}.`)
    }
    if (networks.includes(network)) throw new Error(`--networks names ${network.word} twice; keep it once.`)
    networks.push(network)
  }
  return networks as [Network, ...Network[]]
}

/** The network of `--network` among those of a sandbox. */
export function chosenNetwork(word: string, ids: readonly string[]): Network {
  const network = findNetwork(word)
  if (network && ids.includes(network.id)) return network
  const sold = ids.map((id) => findNetwork(id)?.word ?? id).join(', ')
  throw new Error(`--network is ${JSON.stringify(word)}; this sandbox sells on ${sold}.`)
}
