import { join } from 'node:path'
import type { Alerts, Store, StoreChoice } from '../ports.ts'
import { wokenStore } from './woken-store.ts'

/** Opens the chosen store; drivers of the others are not loaded. */
export async function openStore(choice: StoreChoice, alerts: Alerts): Promise<Store> {
  switch (choice.kind) {
    case 'custom':
      return choice.store
    case 'memory':
      return (await import('./memory.ts')).createMemoryStore()
    case 'embedded': {
      const { openSqliteStore } = await import('./sql/sqlite.ts')
      return openSqliteStore({ path: join(choice.dataDir, 'paystile.db') })
    }
    case 'postgres': {
      const { openPostgresStore } = await import('./sql/postgres.ts')
      const store = await openPostgresStore({ url: choice.url })
      return choice.wakeupsUrl === null ? store : wokenByRedis(store, choice.wakeupsUrl, alerts)
    }
    case 'redis': {
      const { openRedisStore } = await import('./redis/redis-store.ts')
      const store = await openRedisStore({
        url: choice.url,
        durability: choice.mustBeDurable ? 'require' : 'warn',
        onWarning: (message) => alerts.raise('store-not-durable', message),
      })
      return wokenByRedis(store, choice.url, alerts)
    }
  }
}

/** Sales do not need to be woken, so a Redis that cannot be used yet is told of and not waited for. */
async function wokenByRedis(store: Store, url: string, alerts: Alerts): Promise<Store> {
  const onAbsent = ({ message }: Error) =>
    alerts.raise(
      'job-failed',
      `${message.replace(/\.$/, '')}. Without its wake-ups and turns everything continues a little slower; it is tried again`,
    )
  try {
    const { createRedisWakeups } = await import('./redis/wakeups.ts')
    return wokenStore(store, await createRedisWakeups(url, { onAbsent }))
  } catch (error) {
    await store.close()
    throw error
  }
}
