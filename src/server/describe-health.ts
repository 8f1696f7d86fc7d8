import type { Configuration } from '../config/read-configuration.ts'
import { VERSION } from '../gateway.ts'
import { findNetwork } from '../protocol/network.ts'

/** What `/health` says while no gateway runs: the network and store that it would have with the current configuration. */
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
    // Null: the saved file names an unknown network, which the operator must correct.
    network: findNetwork(network)?.id ?? null,
    store: databaseUrl ? 'postgres' : redisUrl ? 'redis' : 'sqlite',
  }
}
