import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConfigError, UnavailableError } from '../../src/errors.ts'
import type { Store } from '../../src/ports.ts'
import { connectRedis } from '../../src/stores/redis/connect-redis.ts'
import { openRedisStore, type RedisStoreOptions } from '../../src/stores/redis/redis-store.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'
import { samplePut } from '../../src/testing/store-rows.ts'
import { freePort } from '../e2e/world.ts'
import { startSentinelSet } from './redis-sentinel.ts'
import { startTlsRedis } from './tls-redis.ts'

const applied = { kind: 'applied' }
const PASSWORD = 'p@ss:w/rd?#%&é'
const encoded = encodeURIComponent(PASSWORD)

/** Opens, writes, closes; returns what it warned of. */
async function use(options: RedisStoreOptions): Promise<string[]> {
  const warnings: string[] = []
  const store = await openRedisStore({ ...options, onWarning: (message) => warnings.push(message) })
  try {
    const key = `${Math.random()}`
    expect(await store.commit({ puts: [samplePut('seen', { key })] })).toEqual(applied)
    expect(await store.get('seen', [key])).toMatchObject([{ version: 1 }])
  } finally {
    await store.close()
  }
  return warnings
}

describe('credentials, databases and users', () => {
  let redis: RedisServer
  let at: string
  beforeAll(async () => {
    redis = await startRedis({ config: { requirepass: PASSWORD } })
    at = `127.0.0.1:${redis.port}`
    const admin = await connectRedis({ url: `redis://:${encoded}@${at}` })
    const all = ['on', `>${PASSWORD}`, '~*', '&*', '+@all']
    await admin.call('acl', 'setuser', 'full', ...all)
    await admin.call('acl', 'setuser', 'managed', ...all, '-config')
    await admin.call('acl', 'setuser', 'silent', ...all, '-config', '-info')
    await admin.call('acl', 'setuser', 'reader', ...all, '-@write')
    const needed = [
      '+get',
      '+set',
      '+mget',
      '+del',
      '+evalsha',
      '+eval',
      '+ping',
      '+info',
      '+config|get',
      '+select',
    ]
    const index = [
      '+zadd',
      '+zrem',
      '+zrange',
      '+zrangebyscore',
      '+incr',
      '+xadd',
      '+xrange',
      '+rpush',
      '+lrange',
    ]
    await admin.call('acl', 'setuser', 'least', 'on', `>${PASSWORD}`, '~{svc:least}*', ...needed, ...index)
    admin.close()
  })
  afterAll(() => redis.stop())

  test.each(['', 'default', 'full'])('user %j with a password that needs escaping', async (user) => {
    expect(await use({ url: `redis://${user}:${encoded}@${at}` })).toEqual([])
  })

  test('a user with only the rights that the store needs', async () => {
    expect(await use({ url: `redis://least:${encoded}@${at}`, gateway: 'least' })).toEqual([])
    const others = openRedisStore({ url: `redis://least:${encoded}@${at}`, gateway: 'other' })
    await expect(others).rejects.toThrow(ConfigError)
  })

  test('a database number keeps stores apart', async () => {
    const store = await openRedisStore({ url: `redis://:${encoded}@${at}/3` })
    await store.commit({ puts: [samplePut('seen', { key: 'three' })] })
    await store.close()
    for (const [db, there] of [
      [0, false],
      [3, true],
    ] as const) {
      const other = await openRedisStore({ url: `redis://:${encoded}@${at}/${db}` })
      expect((await other.get('seen', ['three']))[0] !== undefined).toBe(there)
      await other.close()
    }
  })

  test.each([
    ['no password', () => `redis://${at}`, /NOAUTH/],
    ['a wrong password', () => `redis://:wrong-secret@${at}`, /WRONGPASS/],
    ['an unknown user', () => `redis://nobody:wrong-secret@${at}`, /WRONGPASS/],
    ['a database that does not exist', () => `redis://:${encoded}@${at}/99`, /DB index/],
    [
      'a user who may not write',
      () => `redis://reader:${encoded}@${at}`,
      /cannot be used as a store: NOPERM/,
    ],
  ])('%s: refuses to open, at once, and without the secret in the message', async (_name, url, message) => {
    const startedAt = performance.now()
    const error = await openRedisStore({ url: url(), timeoutMs: 60_000 }).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ConfigError)
    expect(String(error)).toMatch(message)
    expect(inspect(error)).not.toContain('wrong-secret')
    expect(inspect(error)).not.toContain(PASSWORD)
    expect(performance.now() - startedAt, 'long before the deadline').toBeLessThan(30_000)
  })

  test('no server: unavailable within the deadline', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`
    await expect(openRedisStore({ url, timeoutMs: 300 })).rejects.toThrow(UnavailableError)
  })

  test('CONFIG forbidden: it reports what it cannot check, and opens even if durability is required', async () => {
    const managed = await use({ url: `redis://managed:${encoded}@${at}`, durability: 'require' })
    expect(managed).toEqual([expect.stringContaining('does not tell its appendfsync')])
    const silent = await use({ url: `redis://silent:${encoded}@${at}`, durability: 'require' })
    expect(silent.map((message) => /its ([\w-]+);/.exec(message)?.[1])).toEqual([
      'maxmemory-policy',
      'appendonly',
      'appendfsync',
    ])
  })

  test('a store of a later layout is refused', async () => {
    const admin = await connectRedis({ url: `redis://:${encoded}@${at}` })
    await admin.call('set', '{svc:later}:layout', '3')
    admin.close()
    const open = openRedisStore({ url: `redis://:${encoded}@${at}`, gateway: 'later' })
    await expect(open).rejects.toThrow(/has layout 3/)
  })
})

describe('a server that may forget payments', () => {
  test.each([
    ['nothing', { appendfsync: 'always' }, []],
    ['everysec', { appendfsync: 'everysec' }, [/appendfsync everysec/]],
    ['no append-only file', { appendonly: false }, [/appendonly no/]],
    [
      'eviction',
      { appendfsync: 'always', config: { 'maxmemory-policy': 'allkeys-lru' } },
      [/maxmemory-policy allkeys-lru/],
    ],
    [
      'everything',
      { appendonly: false, config: { 'maxmemory-policy': 'volatile-ttl' } },
      [/maxmemory-policy volatile-ttl/, /appendonly no/],
    ],
  ] as const)('%s: is told, or refused where durability is required', async (_name, settings, expected) => {
    const redis = await startRedis(settings)
    try {
      const warnings = await use({ url: redis.url })
      expect(warnings).toEqual(expected.map((message) => expect.stringMatching(message)))
      const strict = use({ url: redis.url, durability: 'require' })
      if (expected.length === 0) expect(await strict).toEqual([])
      else {
        const error = await strict.catch((reason: unknown) => reason)
        expect(error).toBeInstanceOf(ConfigError)
        expect((error as ConfigError).faults, 'all faults at once').toEqual(warnings)
      }
    } finally {
      await redis.stop()
    }
  })
})

describe('TLS', () => {
  test('rediss:// with the authority given; a server with an untrusted certificate is refused', async () => {
    const secure = await startTlsRedis({ requirepass: PASSWORD })
    try {
      const url = `rediss://:${encoded}@${secure.host}`
      expect(await use({ url, ca: secure.certificate() })).toEqual([])
      const untrusted = await openRedisStore({ url }).catch((error: unknown) => error)
      expect(untrusted).toBeInstanceOf(ConfigError)
      expect(String(untrusted)).toMatch(/redis at localhost:\d+ has a self-signed certificate\. /)
      const plain = openRedisStore({ url: url.replace('rediss', 'redis'), timeoutMs: 500 })
      await expect(plain).rejects.toThrow(UnavailableError)
    } finally {
      await secure.stop()
    }
  })
})

test('closing while TLS is being agreed on ends no process, whatever the server says to that', async () => {
  const secure = await startTlsRedis()
  const uncaught: unknown[] = []
  const note = (error: unknown) => void uncaught.push(error)
  process.on('uncaughtException', note)
  let greeted = () => {}
  const wire = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ port: secure.port, host: '127.0.0.1', allowHalfOpen: true })
    for (const socket of [client, server]) socket.on('error', () => {})
    client.once('data', () => greeted())
    client.pipe(server).pipe(client)
    client.once('close', () => server.destroy())
  })
  await new Promise<void>((listening) => wire.listen(0, '127.0.0.1', listening))
  try {
    const { port } = wire.address() as AddressInfo
    const connection = await connectRedis({ url: `rediss://127.0.0.1:${port}` }, 'wait')
    // The next try: its first words are on their way, and the answer to them is not there.
    await new Promise<void>((closed) => {
      greeted = () => {
        connection.close()
        closed()
      }
    })
    await new Promise((ended) => wire.close(ended))
    await sleep(0)
    expect(uncaught).toEqual([])
  } finally {
    process.off('uncaughtException', note)
    await secure.stop()
  }
})

describe('Sentinel', () => {
  test('the store follows the master through a failover, and knows what it knew', async () => {
    const set = await startSentinelSet(await freePort(), 'secret')
    let store: Store | undefined
    try {
      const url = `redis+sentinel://:secret@127.0.0.1:${set.sentinelPort},127.0.0.1:1/shop/2`
      store = await openRedisStore({ url, timeoutMs: 2_000 })
      expect(await store.commit({ puts: [samplePut('seen', { key: 'before' })] })).toEqual(applied)
      // A write reaches the replica a moment after it is answered.
      await set.replicated()
      await set.master.kill()
      await expect(store.commit({ puts: [samplePut('seen', { key: 'lost' })] })).rejects.toThrow(
        UnavailableError,
      )
      let outcome: unknown
      do {
        await sleep(100)
        outcome = await store.commit({ puts: [samplePut('seen', { key: 'after' })] }).catch(() => undefined)
      } while (outcome === undefined)
      expect(await store.get('seen', ['before', 'after'])).toMatchObject([{ version: 1 }, { version: 1 }])
    } finally {
      await store?.close()
      await set.stop()
    }
  })
})
