import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import type { StoreChoice } from '../ports.ts'
import { openStore } from '../stores/open-store.ts'
import { createStoreKeeper } from './boot-store.ts'

const alerts = { raise: () => {} }
let dataDir: string
let choice: StoreChoice
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-keeper-'))
  choice = { kind: 'embedded', dataDir }
})
afterAll(() => rm(dataDir, { recursive: true, force: true }))

describe('createStoreKeeper', () => {
  test('two gateways share the embedded store; it closes with the last of them, whoever that is', async () => {
    const keeper = createStoreKeeper()
    const [first, second] = await Promise.all([keeper.open(choice, alerts), keeper.open(choice, alerts)])
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
    const third = await keeper.open(choice, alerts)
    expect(third.exclusive).toBe(true)
    await third.close()
  })

  test('a store that cannot be opened names its variable, and can be opened later', async () => {
    const other = await openStore(choice, alerts)
    const keeper = createStoreKeeper()
    await expect(keeper.open(choice, alerts)).rejects.toThrow(/^DATA_DIR: .* is in use by another process/)
    await other.close()
    await (await keeper.open(choice, alerts)).close()
    const postgres: StoreChoice = { kind: 'postgres', url: 'postgres://nobody', wakeupsUrl: null }
    await expect(keeper.open(postgres, alerts)).rejects.toThrow(
      /^DATABASE_URL: The Postgres URL names no user/,
    )
  })
})
