import { afterAll, beforeAll, describe, test } from 'vitest'
import { openPostgresStore } from '../../src/stores/sql/postgres.ts'
import { type PostgresServer, startPostgres } from '../../src/testing/postgres-server.ts'
import { type OpenStore, storeConformance } from '../../src/testing/store-conformance.ts'
import { repetitions } from '../at-length.ts'

const runs = repetitions({ few: 40, many: 2000 })

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres({ fsync: false })
})
afterAll(() => server.stop())

describe('postgres', () => {
  for (const { name, run } of storeConformance(openEmpty, { runs })) test(name, run, 30_000 + 200 * runs)
})

let opened = 0

/** A schema of its own is as good as an empty database, and much faster to make. */
async function openEmpty(): Promise<OpenStore> {
  opened += 1
  const options = { url: server.url, schema: `check_${opened}` }
  let store = await openPostgresStore(options)
  return {
    store,
    async reopen() {
      await store.close()
      store = await openPostgresStore(options)
      return store
    },
    close: () => store.close(),
  }
}
