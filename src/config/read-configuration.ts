import { overSaved, type SavedValues } from './config-file.ts'
import { optionsFromEnv } from './from-env.ts'
import type { GatewayOptions, OptionSource } from './options.ts'
import type { Env, ReadFile } from './read-variable.ts'
import { checkConfig } from './resolve-config.ts'
import type { ResolvedConfig } from './resolved-config.ts'
import type { ServerSettings } from './server-variables.ts'

/** What the environment and the saved file say together. */
export interface Configuration {
  /** Both in one: as if everything had been said by the environment. */
  stated: Env
  /** The same with the stores that were found. */
  env: Env
  saved: SavedValues
  options: GatewayOptions
  source: OptionSource
  settings: ServerSettings
  /** There if and only if nothing is wrong and nothing is missing. */
  config: ResolvedConfig | undefined
  missing: string[]
  faults: string[]
  /** Those of the faults that the environment alone has: no setup page can mend them. */
  environmentFaults: string[]
}

/**
 * Checks the environment together with what was saved. `infra` are URLs of stores that were found, which count where
 * neither names one.
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
  const own = new Set(checkConfig(alone.options, alone.source).faults)
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
    // A fault that saving has mended (the other half of a pair) is none; one that both have is the environment's.
    environmentFaults: faults.filter((fault) => own.has(fault)),
  }
}
