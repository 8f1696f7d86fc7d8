import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Put, Step, Store } from '../../src/ports.ts'
import { openPostgresStore, type PostgresStore } from '../../src/stores/sql/postgres.ts'
import { type PostgresServer, startPostgres } from '../../src/testing/postgres-server.ts'
import { sampleAudit, samplePut } from '../../src/testing/store-rows.ts'

let server: PostgresServer
let admin: postgres.Sql
let stores: [PostgresStore, PostgresStore]
let schemas = 0

beforeAll(async () => {
  server = await startPostgres({ fsync: false })
  admin = postgres(server.url, { max: 1 })
})
afterAll(async () => {
  await admin.end()
  await server.stop()
})
beforeEach(async () => {
  schemas += 1
  const options = { url: server.url, schema: `race_${schemas}` }
  // At once: on an empty database both want to make the tables.
  stores = await Promise.all([openPostgresStore(options), openPostgresStore(options)])
})
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()))
})

const kinds = async (...commits: Array<ReturnType<Store['commit']>>) =>
  (await Promise.all(commits)).map(({ kind }) => kind)

test('of two instances that claim one nonce exactly one wins, 300 times', async () => {
  const keys = Array.from({ length: 300 }, (_, index) => `nonce-${index}`)
  const claim = (store: Store, key: string) => {
    const puts = [samplePut('authorizations', { key }), samplePut('outbox', { key })]
    return store.commit({ puts, audit: [sampleAudit(key, 'claimed')] })
  }
  const races = keys.map((key, index) => {
    const [first, second] = index % 2 === 0 ? stores : [stores[1], stores[0]]
    return kinds(claim(first, key), claim(second, key))
  })
  for (const race of await Promise.all(races)) expect(race.sort()).toEqual(['applied', 'conflict'])
  for (const key of keys) expect(await stores[0].audit(key)).toHaveLength(1)
})

test('jobs of two instances never take the same row, and together take all', async () => {
  const keys = Array.from({ length: 400 }, (_, index) => `row-${index}`)
  await stores[0].commit({ puts: keys.map((key, index) => samplePut('refunds', { key, dueAt: index })) })
  const taken: string[] = []
  const worker = async (store: Store) => {
    for (;;) {
      const rows = await store.takeDue('refunds', 1_000, 9_000, 7)
      if (rows.length === 0) return
      for (const row of rows) expect(row).toMatchObject({ version: 2, dueAt: 9_000 })
      taken.push(...rows.map((row) => row.key))
    }
  }
  await Promise.all([...stores, ...stores, ...stores, ...stores].map(worker))
  expect([...taken].sort()).toEqual([...keys].sort())
})

test('a job takes what it can while a commit elsewhere waits for a lock', async () => {
  await stores[0].commit({ puts: ['a', 'b'].map((key) => samplePut('outbox', { key, dueAt: 1 })) })
  const schema = `race_${schemas}`
  const session = await admin.reserve()
  await session.unsafe(`BEGIN; SELECT * FROM ${schema}.outbox WHERE key = 'a' FOR UPDATE`)
  const waiting = stores[0].commit({ puts: [samplePut('outbox', { key: 'a', version: 1, dueAt: 2 })] })
  expect((await stores[1].takeDue('outbox', 1, 50, 9)).map((row) => row.key)).toEqual(['b'])
  await session.unsafe('COMMIT')
  session.release()
  expect(await waiting).toEqual({ kind: 'applied' })
  expect((await stores[1].takeDue('outbox', 2, 50, 9)).map((row) => row.key)).toEqual(['a'])
})

test('2,400 steps over the same few rows from two instances: none hangs, none is lost, no deadlock', async () => {
  const tables = ['challenges', 'authorizations', 'receipts'] as const
  const keys = ['a', 'b', 'c', 'd']
  const puts = new Map<string, number>()
  let random = 1
  const below = (limit: number) => {
    random = (random * 48_271) % 0x7fffffff
    return random % limit
  }
  let applied = 0
  const worker = async (store: Store, name: string) => {
    for (let turn = 0; turn < 150; turn++) {
      const wanted = new Map<string, { table: (typeof tables)[number]; key: string }>()
      while (wanted.size < 1 + below(4)) {
        const one = { table: tables[below(3)]!, key: keys[below(4)]! }
        wanted.set(`${one.table} ${one.key}`, one)
      }
      const step: Step = { puts: [], audit: [sampleAudit('log', `${name}-${turn}`)] }
      // In no order at all: it is the store that must bring order into locks.
      for (const { table, key } of wanted.values()) {
        const [row] = await store.get(table, [key])
        step.puts.push(
          samplePut(table, { key, version: row?.version ?? 0, dueAt: below(2) === 0 ? 5 : null }) as Put,
        )
      }
      if (below(20) === 0)
        for (const row of await store.takeDue('receipts', 5, 6, 2)) count('receipts', row.key)
      const result = await store.commit(step)
      if (result.kind !== 'applied') continue
      applied += 1
      for (const { table, row } of step.puts) count(table, row.key)
    }
  }
  const count = (table: string, key: string) =>
    puts.set(`${table} ${key}`, (puts.get(`${table} ${key}`) ?? 0) + 1)
  const workers = stores.flatMap((store, index) =>
    Array.from({ length: 8 }, (_, n) => worker(store, `${index}-${n}`)),
  )
  await Promise.all(workers)

  for (const table of tables) {
    for (const row of await stores[0].get(table, keys)) {
      if (row) expect(row.version, `${table} ${row.key}`).toBe(puts.get(`${table} ${row.key}`))
    }
  }
  expect(await stores[1].audit('log')).toHaveLength(applied)
  expect(applied).toBeGreaterThan(100)
  const [{ deadlocks }] =
    (await admin`SELECT sum(deadlocks)::int AS deadlocks FROM pg_stat_database`) as never as [
      { deadlocks: number },
    ]
  expect(deadlocks).toBe(0)
})

test('inserts and removals of the same rows from two instances keep every step whole', async () => {
  const keys = ['x', 'y', 'z']
  let applied = 0
  const worker = async (store: Store, forward: boolean) => {
    for (let turn = 0; turn < 60; turn++) {
      const rows = await store.get('seen', keys)
      const order = forward ? keys : [...keys].reverse()
      // All three are there or none is, always: that is what a step promises.
      const there = rows.filter((row) => row !== undefined)
      expect([0, 3]).toContain(there.length)
      const result =
        there.length === 0
          ? await store.commit({
              puts: order.map((key) => samplePut('seen', { key })),
              audit: [sampleAudit('s', 'in')],
            })
          : await store.commit({
              puts: [],
              removes: there.map(({ key, version }) => ({ table: 'seen' as const, key, version })),
              audit: [sampleAudit('s', 'out')],
            })
      if (result.kind === 'applied') applied += 1
    }
  }
  await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((n) => worker(stores[n % 2]!, n % 4 < 2)))
  const log = (await stores[0].audit('s')).map(({ event }) => event)
  expect(log).toHaveLength(applied)
  // In and out take turns in the log as they did in fact: each step waited for the one before it.
  expect(log).toEqual(log.map((_, index) => (index % 2 === 0 ? 'in' : 'out')))
})

test('one instance is notified of what another committed', async () => {
  const heard: string[] = []
  const done = new Promise<void>((resolve) => {
    stores[0].onCommitted((ids) => {
      heard.push(...ids)
      if (heard.includes('last')) resolve()
    })
  })
  const stop = stores[1].onCommitted(() => {})
  const put = (key: string) => samplePut('challenges', { key })
  // The connection may still be opening and hints may get lost, so the last one is repeated until it arrives.
  let version = 0
  const repeat = setInterval(() => {
    const puts = [samplePut('challenges', { key: 'last', version: version++ })]
    void stores[1].commit({ puts })
  }, 50)
  await done
  clearInterval(repeat)
  expect(await stores[0].commit({ puts: [put('own')] })).toEqual({ kind: 'applied' })
  const ids = Array.from({ length: 500 }, (_, index) => `challenge-${index}-${'x'.repeat(60)}`)
  await Promise.all(ids.map((id) => stores[1].commit({ puts: [put(id)] })))
  await expect.poll(() => ids.every((id) => heard.includes(id))).toBe(true)
  expect(heard).not.toContain('own')
  stop()
})
