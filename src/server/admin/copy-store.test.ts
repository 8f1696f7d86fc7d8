import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { UnavailableError } from '../../errors.ts'
import type { Store } from '../../ports.ts'
import { openSqliteStore } from '../../stores/sql/sqlite.ts'
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
  const stopped = await copyStore(store, 20)
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

test('a full disk is named, with what a copy needs room for', async () => {
  const full = new UnavailableError('the sqlite store (its disk is full)')
  const response = await copyStore({
    ...store,
    snapshot() {
      return { next: () => Promise.reject(full) } as unknown as AsyncGenerator<Uint8Array>
    },
  })
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({
    error: expect.stringMatching(
      /^the sqlite store \(its disk is full\) is unavailable\. .* make room there/,
    ),
  })
})
