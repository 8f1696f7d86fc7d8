import { checkConfig } from '../config/resolve-config.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import { ConfigError } from '../errors.ts'
import { type Loaded, loadConfiguration } from '../server/load-configuration.ts'
import type { Terminal } from './terminal.ts'

/** The configuration that `paystile serve` would use here. */
export function load({ env, errors }: Terminal): Promise<Loaded> {
  return loadConfiguration(env, { warn: (message) => void errors.write(`${message}\n`) })
}

/** Throws every fault and everything that is missing, at once. */
export function complete({ configuration, fileFaults }: Loaded): ResolvedConfig {
  const { config, faults, missing } = configuration
  if (config && fileFaults.length === 0) return config
  throw new ConfigError([...fileFaults, ...faults, ...missing])
}

/** Stands in for what a gateway needs to sell, and whoever only reads the books does not. */
const UNSOLD = {
  plans: [{ planId: 'unsold', unitAmount: '$1.00' }],
  tokenSecret: 'stands in for a secret that is not used here',
  secretKey: 'stands in for a secret that is not used here',
  resourceEndpoint: 'https://unsold.invalid/{resourceId}',
}

/**
 * The networks and wallets to look at, and what goes for their sales. Those of an embedded gateway may be stated without its
 * catalog, which is in the code of its application.
 */
export function statedConfig(loaded: Loaded): Pick<ResolvedConfig, 'networks' | 'refundMinAgeSeconds'> {
  const { config, options, source, faults } = loaded.configuration
  if (config) return complete(loaded)
  const { facilitatorUrl = 'https://unsold.invalid', ...stated } = options
  const settles = options.gasWalletPrivateKey === undefined ? { facilitatorUrl } : {}
  const alone = checkConfig({ ...UNSOLD, ...settles, ...stated }, source)
  if (alone.config && faults.length === 0 && loaded.fileFaults.length === 0) return alone.config
  throw new ConfigError([
    ...loaded.fileFaults,
    ...(faults.length > 0 ? faults : [...alone.faults, ...alone.missing]),
  ])
}
