import { join } from 'node:path'
import type { StoreChoice } from '../ports.ts'

/**
 * Whether this store has ever been used. Reads its log, which is never emptied, and changes or creates nothing, so a store that
 * is not in use yet can be asked. Must not be called for an embedded store that this process has open. Throws
 * UnavailableError if the store does not answer, and ConfigError if it refuses.
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
