import type { Configuration } from '../config/read-configuration.ts'
import type { NetworkConfig } from '../config/resolved-config.ts'
import { ConfigError } from '../errors.ts'
import type { StoreChoice } from '../ports.ts'
import { holdsRecords } from '../stores/holds-records.ts'
import { parseRedisUrl } from '../stores/redis/parse-redis-url.ts'
import { parsePostgresUrl } from '../stores/sql/postgres-url.ts'

interface InUse {
  store: StoreChoice
  networks: readonly NetworkConfig[]
}

/** What a server with this configuration uses; of one with faults, the store that it names. */
export function inUse({ config, options }: Configuration, dataDir: string): InUse {
  if (config) return config
  const { databaseUrl, redisUrl } = options
  const networks: InUse['networks'] = []
  if (databaseUrl !== undefined) {
    return { store: { kind: 'postgres', url: databaseUrl, wakeupsUrl: null }, networks }
  }
  if (redisUrl !== undefined) {
    return { store: { kind: 'redis', url: redisUrl, mustBeDurable: false }, networks }
  }
  return { store: { kind: 'embedded', dataDir }, networks }
}

/** A store that cannot be asked now counts as one with records: payments in it may be unfinished. */
export async function mayHoldRecords(store: StoreChoice): Promise<boolean> {
  return holdsRecords(store).catch(() => true)
}

/** The records that this change of configuration would leave behind, one reason each; empty if none. */
export function recordsLeftBehind(before: InUse, after: InUse): string[] {
  const reasons: string[] = []
  const [from, to] = [placeOf(before.store), placeOf(after.store)]
  if (from !== undefined && to !== undefined && from !== to) {
    reasons.push(
      `The records of payments are in ${from}; with ${to} this server would no longer know them, and buyers who paid could not fetch again what they bought.`,
    )
  }
  const kept = new Set(after.networks.map(({ network }) => network.id))
  for (const { network } of before.networks) {
    if (kept.has(network.id)) continue
    reasons.push(
      `There are records of payments on ${network.id}; without it, payments and refunds that are still open there would not be finished.`,
    )
  }
  return reasons
}

/**
 * Where the records are, without the password: a changed password is not another place. Undefined for an address that cannot be
 * read: nothing was ever kept there, and the start says what is wrong with it.
 */
function placeOf(choice: StoreChoice): string | undefined {
  try {
    switch (choice.kind) {
      case 'embedded':
        return `the embedded store in ${choice.dataDir}`
      case 'postgres':
        return parsePostgresUrl(choice.url).label
      case 'redis': {
        const { label, db } = parseRedisUrl(choice.url)
        return `${label}, database ${db}`
      }
      default:
        return choice.kind
    }
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    throw error
  }
}
