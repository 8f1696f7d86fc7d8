import { readFileSync } from 'node:fs'
import { readConfigFile, type SavedValues } from '../config/config-file.ts'
import { misspeltVariables } from '../config/misspelt-variables.ts'
import { type Configuration, readConfiguration } from '../config/read-configuration.ts'
import { type Env, isSet, readVariable } from '../config/read-variable.ts'
import { ConfigError } from '../errors.ts'
import { holdsRecords } from '../stores/holds-records.ts'
import { type FindHost, findManagedInfra, type InfraAnswer } from './managed-infra.ts'
import { mayHoldRecords } from './records-left-behind.ts'

/** What the server has read when it starts. */
export interface Loaded {
  environment: Env
  dataDir: string
  configuration: Configuration
  /** Faults of the saved file. They do not end the server: the setup page shows them, and saving again fixes them. */
  fileFaults: string[]
  /** Stores found by their host names; undefined if the configuration names a store. */
  infra: InfraAnswer | undefined
  /** The configuration with other saved values, but the same environment and the same found stores. */
  read(values: SavedValues): Configuration
}

const DEFAULT_DATA_DIR = './data'
export const readText = (path: string): string => readFileSync(path, 'utf8')

/**
 * Reads the environment and the saved file, and looks for stores beside this server. Throws ConfigError with every fault of
 * the environment, because the setup page cannot change the environment.
 */
export async function loadConfiguration(
  env: Env,
  { warn, findHost }: { warn(message: string): void; findHost?: FindHost | undefined },
): Promise<Loaded> {
  for (const line of misspeltVariables(env)) warn(line)
  const found = readVariable('DATA_DIR', env, readText)
  const dataDir = found && 'text' in found ? found.text : DEFAULT_DATA_DIR
  const file = readConfigFile(dataDir)
  const alone = readConfiguration(env, file.values, readText)
  if (alone.environmentFaults.length > 0) {
    throw new ConfigError([...alone.missing, ...alone.faults])
  }
  const namesStore = ['DATABASE_URL', 'REDIS_URL'].some((name) => isSet(name, alone.stated))
  const infra = namesStore
    ? undefined
    : await findManagedInfra({
        settings: alone.settings,
        dataDir,
        warn,
        // Also while a server has it open: a command beside it must not look for the records elsewhere.
        embeddedHoldsRecords: () => mayHoldRecords({ kind: 'embedded', dataDir }),
        ...(findHost && { findHost }),
      })
  const read = (values: SavedValues): Configuration => {
    const configuration = readConfiguration(env, values, readText, infra?.urls)
    return { ...configuration, missing: configuration.missing.map((line) => explained(line, infra)) }
  }
  const configuration = read(file.values)
  const { config } = configuration
  if (config && config.store.kind !== 'embedded' && (await leavesRecords(dataDir))) {
    warn(`${dataDir} holds records of payments, which the ${config.store.kind} in use now does not know.`)
  }
  return { environment: env, dataDir, configuration, fileFaults: file.faults, infra, read }
}

/** If another process has the store in this folder open, its records are in use and not left behind. */
async function leavesRecords(dataDir: string): Promise<boolean> {
  try {
    return await holdsRecords({ kind: 'embedded', dataDir })
  } catch {
    return false
  }
}

/** Explains a missing key that only a shared store needs, if the operator did not ask for that store. */
function explained(missing: string, infra: InfraAnswer | undefined): string {
  if (!infra || !missing.startsWith('SVC_SECRET_KEY ')) return missing
  const { redis, postgres } = infra.chosen
  const hosts = [redis && 'redis', postgres && 'postgres'].filter(Boolean).join(' and ')
  if (hosts === '') return missing
  return `${missing} (${hosts} runs beside this server; SVC_MANAGED_INFRA=none keeps records in DATA_DIR instead)`
}
