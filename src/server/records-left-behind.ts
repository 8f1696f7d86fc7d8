import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { StoreChoice } from '../ports.ts'
import { parseRedisUrl } from '../stores/redis/parse-redis-url.ts'
import { parsePostgresUrl } from '../stores/sql/postgres-url.ts'

/** The records that this change of configuration would leave behind, one reason each; empty if none. */
export function recordsLeftBehind(before: ResolvedConfig, after: ResolvedConfig): string[] {
  const reasons: string[] = []
  const [from, to] = [placeOf(before.store), placeOf(after.store)]
  if (from !== to) {
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

/** Where the records are, without the password: a changed password is not another place. */
function placeOf(choice: StoreChoice): string {
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
}
