import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import Database from 'libsql'
import postgres from 'postgres'
import type { Store, StoreChoice } from '../src/ports.ts'
import { openStore } from '../src/stores/open-store.ts'
import { migrate } from '../src/stores/sql/migrate.ts'
import { createSqlStore } from '../src/stores/sql/sql-store.ts'
import { createSqliteDriver } from '../src/stores/sql/sqlite-driver.ts'

const HURRIED_POSTGRES = { fsync: 'off', full_page_writes: 'off', max_wal_size: '20GB', autovacuum: 'off' }

/**
 * The store opened to be filled: it keeps the same tables, but nothing is made durable before `finish`. Afterwards its
 * settings are those of every other store.
 */
export async function openHurried(choice: StoreChoice): Promise<{ store: Store; finish(): Promise<void> }> {
  switch (choice.kind) {
    case 'embedded':
      return hurriedSqlite(choice.dataDir)
    case 'postgres':
      return hurriedPostgres(choice)
    case 'redis':
      return hurriedRedis(choice)
    default:
      throw new Error(`${choice.kind} is no store of the benchmark`)
  }
}

async function hurriedSqlite(dataDir: string) {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const path = join(dataDir, 'paystile.db')
  const database = new Database(path)
  for (const setting of ['journal_mode = OFF', 'synchronous = OFF', 'cache_size = -3000000'])
    database.exec(`PRAGMA ${setting}`)
  const driver = createSqliteDriver(database)
  driver.transactionNow(() => migrate(path, driver.dialect))
  const store = createSqlStore(driver)
  return { store, finish: () => store.close() }
}

async function hurriedPostgres(choice: StoreChoice & { kind: 'postgres' }) {
  const sql = postgres(choice.url, { max: 1 })
  const setAll = async (settings: Record<string, string | undefined>) => {
    for (const [name, value] of Object.entries(settings))
      await sql.unsafe(`ALTER SYSTEM ${value === undefined ? `RESET ${name}` : `SET ${name} = '${value}'`}`)
    await sql`SELECT pg_reload_conf()`
  }
  await setAll(HURRIED_POSTGRES)
  const store = await openStore(choice, { raise: () => {} })
  return {
    store,
    async finish() {
      await store.close()
      await setAll(Object.fromEntries(Object.keys(HURRIED_POSTGRES).map((name) => [name, undefined])))
      // What its own housekeeping would do in the minutes after, during the measurement.
      await sql`VACUUM (ANALYZE, FREEZE)`
      await sql`CHECKPOINT`
      await sql.end()
    },
  }
}

async function hurriedRedis(choice: StoreChoice & { kind: 'redis' }) {
  const redis = new Redis(choice.url)
  await redis.config('SET', 'appendonly', 'no')
  const store = await openStore({ ...choice, mustBeDurable: false }, { raise: () => {} })
  return {
    store,
    async finish() {
      await store.close()
      // A rewrite of the log while purchases are measured would be counted as theirs.
      await redis.config('SET', 'auto-aof-rewrite-percentage', '0')
      await redis.config('SET', 'appendonly', 'yes')
      while (!(await redis.info('persistence')).includes('aof_rewrite_in_progress:0'))
        await new Promise((later) => setTimeout(later, 200))
      redis.disconnect()
    },
  }
}
