import { join } from 'node:path'
import type { StoreChoice } from '../ports.ts'

/**
 * Has anything ever been written down in this store? Looks at its log, which is never emptied; changes and creates nothing,
 * so it may be asked of a store that is not ours yet. Not to be asked of an embedded store that this process has open.
 * Throws UnavailableError if nobody answers, and ConfigError if the answer is a refusal.
 */
export async function holdsRecords(choice: StoreChoice): Promise<boolean> {
  switch (choice.kind) {
    case 'memory':
      return false
    case 'custom':
      return (await choice.store.log(0, 1)).length > 0
    case 'embedded':
      return (await import('./sql/sqlite.ts')).sqliteHoldsRecords(join(choice.dataDir, 'paystile.db'))
    case 'postgres':
      return (await import('./sql/postgres.ts')).postgresHoldsRecords(choice.url)
    case 'redis':
      return (await import('./redis/redis-store.ts')).redisHoldsRecords(choice)
  }
}
