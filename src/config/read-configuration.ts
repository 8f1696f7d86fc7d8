import { overSaved, type SavedValues } from './config-file.ts'
import { optionsFromEnv } from './from-env.ts'
import type { GatewayOptions, OptionSource } from './options.ts'
import { type Env, isSet, type ReadFile } from './read-variable.ts'
import { checkConfig } from './resolve-config.ts'
import type { ResolvedConfig } from './resolved-config.ts'
import type { ServerSettings } from './server-variables.ts'

/** The configuration that the environment and the saved file make together. */
export interface Configuration {
  /** Both merged, as if everything were set in the environment. */
  stated: Env
  /** The same, with the URLs of stores that were found. */
  env: Env
  saved: SavedValues
  options: GatewayOptions
  source: OptionSource
  settings: ServerSettings
  /** Defined if and only if nothing is wrong and nothing is missing. */
  config: ResolvedConfig | undefined
  missing: string[]
  faults: string[]
  /** Faults of the environment alone, which the setup page cannot fix. */
  environmentFaults: string[]
}

/** A setting of a network that is not chosen. */
const UNCHOSEN = /^[A-Z_]+_\d+(_FILE)? is for eip155:/

/**
 * Checks the environment together with the saved values. `infra` has URLs of stores that were found; they are used if neither
 * names a store.
 */
export function readConfiguration(
  env: Env,
  saved: SavedValues,
  readFile: ReadFile,
  infra: Env = {},
): Configuration {
  const merged = overSaved(env, saved)
  const named = ['DATABASE_URL', 'REDIS_URL'].some((name) => merged[name] || merged[`${name}_FILE`])
  const whole = named ? merged : { ...merged, ...infra }
  const { options, source, settings } = optionsFromEnv(whole, readFile)
  const { config, faults, missing } = checkConfig(options, source)
  const alone = optionsFromEnv(env, readFile)
  const checkedAlone = checkConfig(alone.options, alone.source)
  const own = new Set(checkedAlone.faults)
  // If the setup page is needed anyway, networks may be chosen there, and what the environment says of them waits for that.
  const choosesLater = checkedAlone.missing.length > 0 && !isSet('SVC_NETWORK', env)
  return {
    stated: merged,
    env: whole,
    saved,
    options,
    source,
    settings,
    config,
    missing,
    faults,
    // A fault that the saved values fix (the other half of a pair) does not count; one that remains is the environment's.
    environmentFaults: faults.filter((fault) => own.has(fault) && !(choosesLater && UNCHOSEN.test(fault))),
  }
}
