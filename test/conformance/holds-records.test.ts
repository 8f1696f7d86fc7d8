import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError, UnavailableError } from '../../src/errors.ts'
import type { Store, StoreChoice } from '../../src/ports.ts'
import { holdsRecords } from '../../src/stores/holds-records.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { connectRedis } from '../../src/stores/redis/connect-redis.ts'
import { type PostgresServer, startPostgres } from '../../src/testing/postgres-server.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'
import { sampleAudit, samplePut } from '../../src/testing/store-rows.ts'
import { freePort } from '../e2e/world.ts'

const alerts = { raise: () => {} }
let folder: string
let server: PostgresServer
let redis: RedisServer
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-holds-'))
  ;[server, redis] = await Promise.all([startPostgres({ fsync: false }), startRedis({ appendonly: false })])
})
afterAll(async () => {
  await Promise.all([server.stop(), redis.stop()])
  rmSync(folder, { recursive: true })
})

async function use(choice: StoreChoice, work: (store: Store) => Promise<unknown>): Promise<void> {
  const store = await openStore(choice, alerts)
  await work(store).finally(() => store.close())
}

const sell = (store: Store) =>
  store.commit({ puts: [samplePut('challenges', { key: 'c' })], audit: [sampleAudit('c', 'paid')] })

/** Never opened, opened and unused, used: asked before each step and after. */
async function expectRemembered(choice: StoreChoice): Promise<void> {
  expect(await holdsRecords(choice)).toBe(false)
  await use(choice, async () => {})
  expect(await holdsRecords(choice)).toBe(false)
  await use(choice, sell)
  expect(await holdsRecords(choice)).toBe(true)
  // It was only looked at: the next owner finds it free and whole.
  await use(choice, async (store) => expect(await store.audit('c')).toHaveLength(1))
}

test('embedded: also after a crash, and without leaving a file behind', async () => {
  const choice = { kind: 'embedded', dataDir: join(folder, 'data') } as const
  expect(await holdsRecords(choice)).toBe(false)
  expect(existsSync(choice.dataDir), 'nothing is made by asking').toBe(false)
  await expectRemembered(choice)
  const files = readdirSync(choice.dataDir)
  expect(await holdsRecords(choice)).toBe(true)
  expect(readdirSync(choice.dataDir)).toEqual(files)

  // A process that dies with the store open leaves its last writes beside the file.
  const dead = { kind: 'embedded', dataDir: join(folder, 'dead') } as const
  await use(dead, async () => {})
  const script = `
    const Database = require(${JSON.stringify(join(process.cwd(), 'node_modules/libsql'))})
    const database = new Database(${JSON.stringify(join(dead.dataDir, 'paystile.db'))})
    database.exec('PRAGMA locking_mode = EXCLUSIVE')
    database.exec('PRAGMA journal_mode = WAL')
    database.exec("INSERT INTO audit (at, challenge_id, request_id, event, actor) VALUES (1, 'c', 'r', 'paid', 'buyer')")
    process.kill(process.pid, 'SIGKILL')`
  expect(() => execFileSync(process.execPath, ['-e', script], { stdio: 'ignore' })).toThrow()
  expect(readdirSync(dead.dataDir)).toContain('paystile.db-wal')
  expect(await holdsRecords(dead)).toBe(true)
  await use(dead, async (store) => expect(await store.audit('c')).toHaveLength(1))
})

test('embedded: a file that is not a store is reported as such', async () => {
  writeFileSync(join(folder, 'paystile.db'), 'not a database, but long enough to look like one'.repeat(99))
  await expect(holdsRecords({ kind: 'embedded', dataDir: folder })).rejects.toThrow(ConfigError)
})

test('Postgres: nothing is made by asking', async () => {
  const choice = { kind: 'postgres', url: server.url, wakeupsUrl: null } as const
  expect(await holdsRecords(choice)).toBe(false)
  const admin = postgres(server.url, { max: 1, onnotice: () => {} })
  const schemas = await admin`SELECT nspname FROM pg_namespace WHERE nspname = 'paystile'`
  await admin.end()
  expect(schemas).toHaveLength(0)
  await expectRemembered(choice)
  const port = await freePort()
  const nowhere = { ...choice, url: server.url.replace(`:${server.port}/`, `:${port}/`) }
  await expect(holdsRecords(nowhere)).rejects.toThrow(UnavailableError)
  const wrong = { ...choice, url: server.url.replace('://paystile:', '://paystile:wrong') }
  await expect(holdsRecords(wrong)).rejects.toThrow(ConfigError)
})

test('Redis: nothing is made by asking', async () => {
  const choice = { kind: 'redis', url: redis.url, mustBeDurable: false } as const
  expect(await holdsRecords(choice)).toBe(false)
  const admin = await connectRedis({ url: redis.url })
  expect(await admin.call('dbsize')).toBe(0)
  admin.close()
  await expectRemembered(choice)
})

test('a store of the seller’s own, and none', async () => {
  const choice = { kind: 'custom', store: await openStore({ kind: 'memory' }, alerts) } as const
  expect(await holdsRecords(choice)).toBe(false)
  await sell(choice.store)
  expect(await holdsRecords(choice)).toBe(true)
  expect(await holdsRecords({ kind: 'memory' })).toBe(false)
})
