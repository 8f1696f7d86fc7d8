import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { UnavailableError } from '../../errors.ts'
import type { Store } from '../../ports.ts'
import { createSqlStore } from '../../stores/sql/sql-store.ts'
import { openSqliteStore } from '../../stores/sql/sqlite.ts'
import { createSqliteDriver, type SqliteDatabase } from '../../stores/sql/sqlite-driver.ts'
import { copyStore } from './copy-store.ts'

let folder: string
let store: Store

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-copy-'))
  store = openSqliteStore({ path: join(folder, 'paystile.db') })
  for (let n = 0; n < 1500; n++) void log(n)
  await log(1500)
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

const log = (n: number) =>
  store.commit({
    puts: [],
    audit: [
      {
        ...{ at: n, challengeId: `c-${n}`, requestId: `r-${n}`, event: 'created' as const },
        ...{ fromState: null, toState: 'PENDING' as const, actor: 'gateway' as const },
      },
    ],
  })

test('the answer is the store as a file', async () => {
  const response = await copyStore(store)
  expect(response.status).toBe(200)
  await log(1501)
  const copy = join(folder, 'copy.db')
  writeFileSync(copy, Buffer.from(await response.arrayBuffer()))
  const opened = openSqliteStore({ path: copy })
  expect(await opened.log(0, 10_000)).toHaveLength(1501)
  await opened.close()
})

test('one copy at a time; one that its reader gave up makes room for the next', async () => {
  const first = await copyStore(store)
  const second = await copyStore(store)
  expect(second.status).toBe(409)
  expect(await second.json()).toEqual({ error: expect.stringMatching(/is being copied already/) })
  await first.body!.cancel()
  const third = await copyStore(store)
  expect(third.status).toBe(200)
  await third.arrayBuffer()
})

test('a reader that stops reading does not keep the store from writing back its log', async () => {
  const stopped = await copyStore(store, { idleLimitMs: 20 })
  const reader = stopped.body!.getReader()
  await reader.read()
  await expect(reader.closed).rejects.toThrow(/was not read/)
  const next = await copyStore(store)
  expect(next.status).toBe(200)
  await next.arrayBuffer()
})

test('a store with backups of its own says so', async () => {
  const { snapshot: _, ...other } = store
  const response = await copyStore({ ...other, name: 'postgres' })
  expect(response.status).toBe(409)
  expect(await response.json()).toEqual({
    error: 'The records are in postgres, which has backups of its own.',
  })
})

/** A copy of a store on a driver whose database says this. */
async function failedCopy(fault: Error) {
  const failing = async function* (): AsyncGenerator<Uint8Array> {
    yield* []
    throw fault
  }
  const driver = createSqliteDriver({} as SqliteDatabase, {
    ...{ flush() {}, close() {} },
    snapshots: { take: failing, close() {} },
  })
  const logged: unknown[] = []
  const response = await copyStore(createSqlStore(driver), { onError: (error) => void logged.push(error) })
  const { error } = (await response.json()) as { error: string }
  return { status: response.status, error, logged }
}

test.each(['SQLITE_FULL', 'ENOSPC'])(
  'a full disk is named, with what a copy needs room for: %s',
  async (code) => {
    const fault = Object.assign(new Error('database or disk is full'), { code })
    const { status, error, logged } = await failedCopy(fault)
    expect(status).toBe(503)
    expect(error).toMatch(
      /^the sqlite store \(its disk is full\) is unavailable: .*\. Before a copy, .* make room there and try again\.$/,
    )
    expect(logged).toMatchObject([{ cause: fault }])
  },
)

test.each([
  ['SQLITE_CORRUPT', 'the sqlite store is unavailable: database disk image is malformed'],
  [
    'SQLITE_IOERR_READ',
    'the sqlite store (its disk failed) is unavailable: database disk image is malformed',
  ],
])('another fault is told and logged as what it is, and needs no room: %s', async (code, told) => {
  const fault = Object.assign(new Error('database disk image is malformed'), { code })
  expect(await failedCopy(fault)).toEqual({
    status: 503,
    error: told,
    logged: [expect.any(UnavailableError)],
  })
})
