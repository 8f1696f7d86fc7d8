import type { BookNetwork, Store } from '../../ports.ts'
import type { Network } from '../../protocol/network.ts'
import { NETWORKS } from '../../protocol/networks.ts'
import { asBooked, NETWORKS_REF, networkKey } from '../../rules/sales-book.ts'

/**
 * Keeps what the books need of the networks that the seller described: their sales are exported for years, also by
 * commands without that description and after the network was taken away.
 */
export async function rememberNetworks(
  store: Pick<Store, 'get' | 'commit'>,
  networks: readonly Network[],
): Promise<void> {
  for (const network of networks) {
    if (NETWORKS.some(({ id }) => id === network.id)) continue
    const { id, name, testnet, explorerTxUrl, token } = network
    const { address, symbol, decimals } = token
    const facts: BookNetwork = {
      ...{ kind: 'network', id, name, testnet, explorerTxUrl },
      token: { address, symbol, decimals },
    }
    const key = networkKey(id, address)
    const known = asBooked((await store.get('books', [key]))[0], 'network')
    const row = { key, version: known?.version ?? 0, ref: NETWORKS_REF, dueAt: null, ...facts }
    if (known && isSame(known, facts)) continue
    // A conflict means that another instance has just stored it.
    await store.commit({ puts: [{ table: 'books', row }] })
  }
}

const isSame = (known: BookNetwork, { name, testnet, explorerTxUrl, token }: BookNetwork): boolean =>
  known.name === name &&
  known.testnet === testnet &&
  known.explorerTxUrl === explorerTxUrl &&
  known.token.symbol === token.symbol &&
  known.token.decimals === token.decimals
