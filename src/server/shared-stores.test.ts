import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConfigError, UnavailableError } from '../errors.ts'
import type { StoreChoice } from '../ports.ts'
import { openStore } from '../stores/open-store.ts'
import { createSharedStores } from './shared-stores.ts'

const alerts = { raise: () => {} }
let dataDir: string
let choice: StoreChoice
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-stores-'))
  choice = { kind: 'embedded', dataDir }
})
afterAll(() => rm(dataDir, { recursive: true, force: true }))

describe('createSharedStores', () => {
  test('two gateways share the embedded store; it is closed with the last of them, whichever that is', async () => {
    const stores = createSharedStores()
    const [first, second] = await Promise.all([stores.open(choice, alerts), stores.open(choice, alerts)])
    const row = { key: 'r', version: 0, ref: null, dueAt: null, challengeId: 'c' }
    await first.commit({ puts: [{ table: 'requests', row }] })
    expect(await second.get('requests', ['r'])).toMatchObject([{ challengeId: 'c' }])
    // The second one must not void the leases of the first, which is alive.
    expect([first.exclusive, second.exclusive]).toEqual([true, false])
    await first.close()
    await first.close()
    await expect(openStore(choice, alerts), 'still locked').rejects.toThrow(ConfigError)
    await second.ping()
    await second.close()
    const third = await stores.open(choice, alerts)
    expect(third.exclusive).toBe(true)
    await third.close()
  })

  test('a store that cannot be opened names its variable, and can be opened later', async () => {
    const other = await openStore(choice, alerts)
    const stores = createSharedStores()
    await expect(stores.open(choice, alerts)).rejects.toThrow(/^DATA_DIR: .* is in use by another process/)
    await other.close()
    await (await stores.open(choice, alerts)).close()
    const postgres: StoreChoice = { kind: 'postgres', url: 'postgres://nobody', wakeupsUrl: null }
    await expect(stores.open(postgres, alerts)).rejects.toThrow(
      /^DATABASE_URL: The Postgres URL names no user/,
    )
  })

  test('a store that does not answer names its variable and the reason, and no password', async () => {
    const postgres: StoreChoice = {
      kind: 'postgres',
      url: 'postgres://u:hunter2@127.0.0.1:1/shop',
      wakeupsUrl: null,
    }
    const asked = createSharedStores().open(postgres, alerts)
    await expect(asked).rejects.toThrow(UnavailableError)
    await expect(asked).rejects.toThrow(
      /^DATABASE_URL: postgres:\/\/u@127\.0\.0\.1:1\/shop is unavailable: Postgres refuses the connection$/,
    )
  })

  test('Redis that wakes a store in Postgres is named by its own variable', async () => {
    const refused = new ConfigError(['redis at cache:6379 has an expired certificate.'])
    const stores = createSharedStores(() => Promise.reject(refused))
    const choice: StoreChoice = { kind: 'postgres', url: 'postgres://u@db/x', wakeupsUrl: 'rediss://cache' }
    await expect(stores.open(choice, alerts)).rejects.toThrow(/^REDIS_URL: redis at cache:6379 /)
  })
})
