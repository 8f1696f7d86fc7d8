import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/errors.ts'
import { createSharedStores } from '../../src/server/shared-stores.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { connectRedis } from '../../src/stores/redis/connect-redis.ts'
import { createRedisTurns } from '../../src/stores/redis/turns.ts'
import { createRedisWakeups } from '../../src/stores/redis/wakeups.ts'
import { type PostgresServer, startPostgres } from '../../src/testing/postgres-server.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'
import { samplePut } from '../../src/testing/store-rows.ts'
import { startTlsRedis, type TlsRedis } from './tls-redis.ts'

const NEW_PASSWORD = 'the new password'

let database: PostgresServer
let admin: postgres.Sql
let guarded: RedisServer
let secure: TlsRedis
beforeAll(async () => {
  ;[database, guarded, secure] = await Promise.all([
    startPostgres(),
    startRedis({ appendonly: false, config: { requirepass: 'another' } }),
    startTlsRedis(),
  ])
  admin = postgres(database.url, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await admin.end()
  await Promise.all([database.stop(), guarded.stop(), secure.stop()])
})

const newUrl = () => guarded.url.replace('://', `://:${encodeURIComponent(NEW_PASSWORD)}@`)

const sessions = async () => {
  const found =
    await admin`SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'paystile'`
  return found[0]?.n
}

/** Opens as the server does; with what it raised meanwhile. */
async function openWoken(wakeupsUrl: string) {
  const raised: Array<[string, string]> = []
  const alerts = { raise: (kind: string, message: string) => void raised.push([kind, message]) }
  const choice = { kind: 'postgres', url: database.url, wakeupsUrl } as const
  return { store: await createSharedStores().open(choice, alerts), raised }
}

describe('a Redis that only wakes instances', () => {
  test.each([
    [
      'a self-signed certificate',
      () => `rediss://${secure.host}`,
      /^REDIS_URL: redis at localhost:\d+ has a self-signed certificate\. Name its authority in NODE_EXTRA_CA_CERTS, /,
    ],
    ['another password', newUrl, /^REDIS_URL: redis at 127\.0\.0\.1:\d+ refuses us: WRONGPASS /],
  ])(
    'that has %s is as one that is absent: the store opens, writes, tells why once, and closes',
    async (_name, url, why) => {
      const { store, raised } = await openWoken(url())
      const key = `${Math.random()}`
      expect(await store.commit({ puts: [samplePut('challenges', { key })] })).toEqual({ kind: 'applied' })
      expect(await store.get('challenges', [key])).toMatchObject([{ version: 1 }])
      expect(raised).toEqual([['job-failed', expect.stringMatching(why)]])
      expect(raised[0]![1]).toMatch(/wake-ups and turns.* tried again/)
      expect(raised[0]![1]).not.toContain(NEW_PASSWORD)
      await store.close()
      await expect.poll(sessions).toBe(0)
    },
  )

  test('whose URL is none ends the start, and leaves no session of the database behind', async () => {
    const choice = { kind: 'postgres', url: database.url, wakeupsUrl: 'redis://nowhere:port' } as const
    await expect(openStore(choice, { raise() {} })).rejects.toThrow(ConfigError)
    await expect.poll(sessions).toBe(0)
  })
})

describe('wake-ups and turns of a Redis that refused us begin when it takes us', () => {
  /** Publishes until the other one hears it: what is sent before its subscription is lost. */
  async function hears(from: Wakeups, to: Wakeups): Promise<void> {
    const heard: string[] = []
    const stop = to.subscribe((ids) => void heard.push(...ids))
    const tell = () => {
      from.publish(['a'])
      return heard[0]
    }
    await expect.poll(tell).toBe('a')
    stop()
  }
  type Wakeups = Awaited<ReturnType<typeof createRedisWakeups>>

  test('where it gets the right password', async () => {
    const wakeups = await Promise.all([createRedisWakeups(newUrl()), createRedisWakeups(newUrl())])
    const turns = createRedisTurns(newUrl())
    // Nobody waits for a turn that nobody can give.
    ;(await turns.take('wallet'))()
    const operator = await connectRedis({ url: guarded.url.replace('://', '://:another@') })
    await operator.call('config', 'set', 'requirepass', NEW_PASSWORD)
    await hears(wakeups[0], wakeups[1])
    const held = async () => {
      await turns.take('wallet')
      return operator.call('exists', '{svc:default}:turn:wallet')
    }
    await expect.poll(held).toBe(1)
    for (const each of [...wakeups, turns, operator]) each.close()
  })

  test('where it gets the right certificate', async () => {
    const server = await startTlsRedis()
    const url = `rediss://${server.host}`
    // The one that it will have is trusted, the one that it has is not.
    server.sign()
    const ca = server.certificate()
    const reasons: Error[] = []
    const onAbsent = (reason: Error) => void reasons.push(reason)
    const [one, two] = await Promise.all([
      createRedisWakeups(url, { ca, onAbsent }),
      createRedisWakeups(url, { ca }),
    ])
    const turns = createRedisTurns(url, { ca })
    ;(await turns.take('wallet'))()
    expect(reasons).toEqual([expect.any(ConfigError)])
    await server.restart()
    await hears(one, two)
    const operator = await connectRedis({ url, ca })
    const held = async () => {
      await turns.take('wallet')
      return operator.call('exists', '{svc:default}:turn:wallet')
    }
    await expect.poll(held).toBe(1)
    for (const each of [one, two, turns, operator]) each.close()
    await server.stop()
  })
})
