import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { openSqliteStore } from '../../src/stores/sql/sqlite.ts'
import { type OpenStore, storeConformance } from '../../src/testing/index.ts'
import { repetitions } from '../at-length.ts'

const runs = repetitions({ few: 100, many: 2000 })

const stores: Array<{ name: string; open: () => Promise<OpenStore> }> = [
  { name: 'memory', open: openMemory },
  { name: 'sqlite', open: openSqlite },
]

describe.each(stores)('$name', ({ open }) => {
  for (const { name, run } of storeConformance(open, { runs })) test(name, run, 30_000 + 200 * runs)
})

async function openMemory(): Promise<OpenStore> {
  const store = createMemoryStore()
  return { store, close: () => store.close() }
}

async function openSqlite(): Promise<OpenStore> {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-conformance-'))
  const path = join(folder, 'store.db')
  let store = openSqliteStore({ path })
  return {
    store,
    async reopen() {
      await store.close()
      store = openSqliteStore({ path })
      return store
    },
    async close() {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}
