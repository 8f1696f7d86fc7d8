import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ConfigError, UnavailableError } from '../../errors.ts'
import type { Store } from '../../ports.ts'
import { sampleAudit, samplePut } from '../../testing/store-rows.ts'
import { migrate } from './migrate.ts'
import { createSqlStore } from './sql-store.ts'
import { createSqliteDriver, type SqliteDatabase } from './sqlite-driver.ts'

let folder: string
let store: Store
let executed: string[]
/** Statements that fail the next time. */
let failing: string[]
let failure: string | undefined
/** What a copy of the store fails with. */
let thrown: Error | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-sql-'))
  executed = []
  failing = []
  failure = undefined
  thrown = undefined
  const database = new Database(join(folder, 'store.db'))
  const note = (what: string): void => {
    executed.push(what)
    if (failing[0] === what) throw Object.assign(new Error(`${failing.shift()} failed`), { code: failure })
  }
  const watched: SqliteDatabase = {
    get inTransaction() {
      return database.inTransaction
    },
    exec(sql) {
      note(sql)
      return database.exec(sql)
    },
    prepare(sql) {
      const statement = database.prepare(sql)
      if (sql !== 'BEGIN IMMEDIATE' && sql !== 'COMMIT') return statement
      return {
        reader: false,
        all: () => [],
        get: () => undefined,
        run(params) {
          note(sql)
          return statement.run(params)
        },
      }
    },
    close: () => database.close(),
  }
  const snapshots = {
    async *take() {
      note('copy')
      if (thrown) throw thrown
      yield new Uint8Array(1)
    },
    close: () => {},
  }
  const driver = createSqliteDriver(watched, { flush: () => note('flush'), close: () => {}, snapshots })
  driver.transactionNow(() => migrate('store.db', driver.dialect))
  store = createSqlStore(driver)
  executed = []
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const put = (key: string, version = 0) => samplePut('requests', { key, version })
const versions = async (...keys: string[]) => (await store.get('requests', keys)).map((row) => row?.version)

test('all steps of one tick are one transaction', async () => {
  const steps = [[put('a')], [put('b'), put('a', 1)], [put('a', 2)]]
  const results = await Promise.all(steps.map((puts) => store.commit({ puts })))
  expect(executed).toEqual(['BEGIN IMMEDIATE', 'COMMIT', 'flush'])
  expect(results).toEqual(steps.map(() => ({ kind: 'applied' })))
  expect(await versions('a', 'b')).toEqual([3, 1])
})

test('steps that contradict each other each get their own result', async () => {
  const steps = [[put('a')], [put('b'), put('a', 1)], [put('c'), put('a', 1)], [put('a', 2)]]
  const results = await Promise.all(steps.map((puts) => store.commit({ puts })))
  expect(executed.filter((sql) => sql === 'COMMIT')).toHaveLength(1)
  expect(results.map((result) => result.kind)).toEqual(['applied', 'applied', 'conflict', 'applied'])
  expect(await versions('a', 'b', 'c')).toEqual([3, 1, undefined])
})

test('a step that contradicts the stored rows is refused, and other steps are not', async () => {
  await store.commit({ puts: [put('a')] })
  const group = [put('a'), put('b'), put('a', 1)].map((one) => store.commit({ puts: [one] }))
  expect((await Promise.all(group)).map(({ kind }) => kind)).toEqual(['conflict', 'applied', 'applied'])
  expect(await versions('a', 'b')).toEqual([2, 1])
})

test('a step with deferred durability does not wait for the disk; whatever is committed after it does, for both', async () => {
  await store.commit({ puts: [put('a')], durability: 'deferred' })
  expect(executed).toEqual(['BEGIN IMMEDIATE', 'COMMIT'])
  await Promise.all([
    store.commit({ puts: [put('b')], durability: 'deferred' }),
    store.commit({ puts: [put('c')] }),
  ])
  expect(executed.slice(2)).toEqual(['BEGIN IMMEDIATE', 'COMMIT', 'flush'])
})

test('if the disk cannot be flushed, the store is unavailable, although the step may have been committed', async () => {
  failing = ['flush']
  await expect(store.commit({ puts: [put('a')] })).rejects.toBeInstanceOf(UnavailableError)
  expect(await versions('a')).toEqual([1])
  expect(await store.commit({ puts: [put('a')] })).toMatchObject({ kind: 'conflict' })
})

test('steps of callers that continue after a result are grouped again', async () => {
  const caller = async (name: string) => {
    for (let round = 0; round < 5; round++) await store.commit({ puts: [put(`${name}-${round}`)] })
  }
  await Promise.all(['x', 'y', 'z'].map(caller))
  expect(executed.filter((sql) => sql === 'COMMIT')).toHaveLength(5)
})

test('a row that is removed in a group can be inserted later in the group', async () => {
  await store.commit({ puts: [put('a')] })
  const remove = store.commit({ puts: [], removes: [{ table: 'requests', key: 'a', version: 1 }] })
  const insert = store.commit({ puts: [put('a')] })
  expect(await Promise.all([remove, insert])).toEqual([{ kind: 'applied' }, { kind: 'applied' }])
  expect(await versions('a')).toEqual([1])
})

test('if COMMIT fails, every step of the group is unavailable, and none of it is visible', async () => {
  failing = ['COMMIT']
  const audit = [sampleAudit('x', 'opened')]
  const group = ['a', 'b'].map((key) => store.commit({ puts: [put(key)], audit }))
  const settled = await Promise.allSettled(group)
  for (const result of settled) {
    expect(result).toMatchObject({ status: 'rejected', reason: expect.any(UnavailableError) })
  }
  expect(await versions('a', 'b')).toEqual([undefined, undefined])
  expect(await store.audit('x')).toEqual([])
  expect(await store.commit({ puts: [put('a')] })).toEqual({ kind: 'applied' })
})

test('as long as a failed transaction cannot be rolled back, nothing is read or written', async () => {
  failing = ['COMMIT', 'ROLLBACK', 'ROLLBACK', 'ROLLBACK']
  await expect(store.commit({ puts: [put('a')] })).rejects.toThrow(UnavailableError)
  await expect(store.get('requests', ['a'])).rejects.toThrow(UnavailableError)
  await expect(store.commit({ puts: [put('b')] })).rejects.toThrow(UnavailableError)
  expect(await versions('a', 'b')).toEqual([undefined, undefined])
})

test('a takeDue whose COMMIT fails takes nothing', async () => {
  await store.commit({ puts: [samplePut('requests', { key: 'a', dueAt: 5 })] })
  failing = ['COMMIT']
  await expect(store.takeDue('requests', 5, 9, 1)).rejects.toThrow(UnavailableError)
  expect(await versions('a')).toEqual([1])
  expect(await store.takeDue('requests', 5, 9, 1)).toHaveLength(1)
})

test('a copy for which the disk has no room says so, and one copy at a time stays a fault of the caller', async () => {
  const copy = async () => store.snapshot!().next()
  expect(await copy()).toMatchObject({ value: new Uint8Array(1) })
  failing = ['copy']
  failure = 'SQLITE_FULL'
  const full = new UnavailableError('the sqlite store (its disk is full)', undefined, 'copy failed')
  await expect(copy()).rejects.toThrow(full)
  thrown = new ConfigError(['it is being copied already'])
  await expect(copy()).rejects.toBe(thrown)
})

const TRY_WRITE = 'BEGIN IMMEDIATE; PRAGMA user_version = 0; COMMIT'

test.each([
  ['ENOSPC', 'the sqlite store (its disk is full) is unavailable'],
  ['SQLITE_FULL', 'the sqlite store (its disk is full) is unavailable'],
  ['SQLITE_IOERR_WRITE', 'the sqlite store (its disk failed) is unavailable'],
  ['SQLITE_READONLY_DBMOVED', 'the sqlite store (its file cannot be written) is unavailable'],
  ['SQLITE_CONSTRAINT', 'the sqlite store is unavailable'],
])(
  'after a write that failed with %s the store is not ready until it can write again',
  async (code, words) => {
    await store.ping()
    expect(executed, 'no write for an ordinary ping').not.toContain(TRY_WRITE)
    failure = code
    failing = ['flush', TRY_WRITE, 'flush']
    await expect(store.commit({ puts: [put('a')] })).rejects.toThrow(words)
    await expect(store.ping(), 'it cannot be written').rejects.toThrow(words)
    await expect(store.ping(), 'it cannot be flushed').rejects.toThrow(words)
    await store.ping()
    executed = []
    await store.ping()
    expect(executed).not.toContain(TRY_WRITE)
  },
)

test('a commit that succeeds makes it ready as well', async () => {
  failing = ['flush']
  await expect(store.commit({ puts: [put('a')] })).rejects.toThrow(UnavailableError)
  await store.commit({ puts: [put('b')] })
  executed = []
  await store.ping()
  expect(executed).not.toContain(TRY_WRITE)
})
