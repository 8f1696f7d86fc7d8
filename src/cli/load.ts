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
