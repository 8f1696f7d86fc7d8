import type { Network } from '../protocol/network.ts'

/** As texts for buyers name a network: `eip155:84532 (Base Sepolia, chain id 84532)`. */
export const withChainId = ({ id, name, chainId }: Network): string => `${id} (${name}, chain id ${chainId})`

/** What is paid with, and where: `USDC on eip155:8453 (Base) or eip155:137 (Polygon)`. */
export function paidIn(
  networks: readonly Network[],
  place: (network: Network) => string = withChainId,
): string {
  const bySymbol = new Map<string, string[]>()
  for (const network of networks) {
    const { symbol } = network.token
    bySymbol.set(symbol, [...(bySymbol.get(symbol) ?? []), place(network)])
  }
  return [...bySymbol].map(([symbol, places]) => `${symbol} on ${places.join(' or ')}`).join(', or ')
}

/** Which part of a 402 the buyer signs for. */
export function chosenTerms(networks: readonly unknown[]): string {
  return networks.length > 1 ? 'one element of accepts' : 'accepts[0]'
}
