import { chosenNetworks } from '../config/check-networks.ts'
import type { Configuration } from '../config/read-configuration.ts'
import { VERSION } from '../version.ts'

/** What `/health` says while no gateway runs: the networks and store that it would have with the current configuration. */
export function describeHealth({ options }: Pick<Configuration, 'options'>): {
  status: 'ok'
  version: string
  network: string | null
  networks?: string[]
  store: string
} {
  const { databaseUrl, redisUrl } = options
  const chosen = chosenNetworks(options).map(({ id }) => id)
  return {
    status: 'ok',
    version: VERSION,
    // Null: the saved file names an unknown network, which the operator must correct.
    network: chosen[0] ?? null,
    ...(chosen.length > 1 && { networks: chosen }),
    store: databaseUrl ? 'postgres' : redisUrl ? 'redis' : 'sqlite',
  }
}
