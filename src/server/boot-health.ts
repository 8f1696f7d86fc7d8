import type { Configuration } from '../config/read-configuration.ts'
import { VERSION } from '../gateway.ts'
import { findNetwork } from '../protocol/network.ts'

/** What `/health` says of a gateway that does not run yet: the network and store that it will have, as things are. */
export function describeHealth({ options }: Pick<Configuration, 'options'>): {
  status: 'ok'
  version: string
  network: string | null
  store: string
} {
  const { network = 'testnet', databaseUrl, redisUrl } = options
  return {
    status: 'ok',
    version: VERSION,
    // Null: the saved file names one that nobody knows, and waits for its correction.
    network: findNetwork(network)?.id ?? null,
    store: databaseUrl ? 'postgres' : redisUrl ? 'redis' : 'sqlite',
  }
}
