import type { BookNetwork, Store } from '../../ports.ts'
import type { Network } from '../../protocol/network.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import { NETWORKS_REF } from '../../rules/sales-book.ts'
import { all } from './stored-book.ts'

/** What is known of a network; `asset` tells a network's token of today from a former one. */
export type FindNetwork = (networkId: string, asset: string) => Omit<BookNetwork, 'kind'> | undefined

/** Networks that are configured (with the seller's explorers), built in, or were once described by the seller. */
export async function knownNetworks(
  store: Pick<Store, 'list'>,
  configured: readonly Network[],
): Promise<FindNetwork> {
  const remembered = all(await store.list('books', NETWORKS_REF), 'network')
  const known = [...configured, ...NETWORKS, ...remembered]
  return (networkId, asset) => {
    const named = known.filter(({ id }) => id === networkId)
    const exact = named.find(({ token }) => token.address.toLowerCase() === asset.toLowerCase())
    return exact ?? named[0]
  }
}
