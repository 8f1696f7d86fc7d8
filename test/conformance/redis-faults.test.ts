import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UnavailableError } from '../../src/errors.ts'
import type { Store } from '../../src/ports.ts'
import { connectRedis } from '../../src/stores/redis/connect-redis.ts'
import { openRedisStore } from '../../src/stores/redis/redis-store.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'
import { sampleAudit, samplePut, sampleRow } from '../../src/testing/store-rows.ts'
import { type CutProxy, startCutProxy } from './cut-proxy.ts'

const applied = { kind: 'applied' }
let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

let gateways = 0
async function open({ port = redis.port, timeoutMs = 5_000 } = {}): Promise<Store> {
  gateways += 1
  return openRedisStore({ url: `redis://127.0.0.1:${port}`, gateway: `fault-${gateways}`, timeoutMs })
}

async function recovered(store: Store): Promise<void> {
  for (;;) {
    const answers = await store.ping().then(
      () => true,
      () => false,
    )
    if (answers) return
    await sleep(20)
  }
}

async function command(...args: [string, ...string[]]): Promise<unknown> {
  const connection = await connectRedis({ url: redis.url })
  return connection.call(...args).finally(() => connection.close())
}

describe('a connection that is cut', () => {
  let proxy: CutProxy
  let store: Store
  beforeAll(async () => {
    proxy = await startCutProxy(redis.port)
    store = await open({ port: proxy.port })
    // From now on the server knows the script: the next answer is that of the step and not NOSCRIPT.
    await store.commit({ puts: [] })
  })
  afterAll(async () => {
    await store.close()
    await proxy.close()
  })

  test('after the write was sent: the outcome is unknown, and reading again tells it', async () => {
    proxy.cutAt('', 'after')
    await expect(store.commit({ puts: [samplePut('seen', { key: 'sent' })] })).rejects.toThrow(
      UnavailableError,
    )
    await recovered(store)
    expect(await store.get('seen', ['sent'])).toMatchObject([{ key: 'sent', version: 1 }])
  })

  test('before the write arrived: the outcome is unknown, and reading again tells it', async () => {
    proxy.cutAt('', 'before')
    await expect(store.commit({ puts: [samplePut('seen', { key: 'not sent' })] })).rejects.toThrow(
      UnavailableError,
    )
    await recovered(store)
    expect(await store.get('seen', ['not sent'])).toEqual([undefined])
  })

  test('a write is never repeated automatically', async () => {
    // No version guards a step of audit entries alone: a second sending would show.
    for (let turn = 1; turn <= 5; turn++) {
      proxy.cutAt('', 'after')
      await expect(store.commit({ puts: [], audit: [sampleAudit('x', `${turn}`)] })).rejects.toThrow(
        UnavailableError,
      )
      await recovered(store)
      await sleep(100)
      expect((await store.audit('x')).map(({ event }) => Number(event))).toEqual(
        [1, 2, 3, 4, 5].slice(0, turn),
      )
    }
  })

  test('all steps of a group, and every read beside them, learn of it', async () => {
    proxy.cutAt('', 'after')
    const calls = [
      ...Array.from({ length: 20 }, (_, index) =>
        store.commit({ puts: [samplePut('seen', { key: `g-${index}` })] }),
      ),
      store.get('seen', ['g-0']),
      store.list('seen', 'r'),
      store.takeDue('seen', 1, 2, 3),
      store.audit('x'),
      store.ping(),
    ]
    const results = await Promise.allSettled(calls)
    const lost = results.filter((result) => result.status === 'rejected')
    expect(lost.length).toBeGreaterThan(0)
    for (const { reason } of lost) expect(reason).toBeInstanceOf(UnavailableError)
    await recovered(store)
    const again = Array.from({ length: 20 }, (_, index) => store.get('seen', [`g-${index}`]))
    const stored = (await Promise.all(again)).map(([row]) => row !== undefined)
    // One script: all of the group or nothing of it.
    expect(new Set(stored).size).toBe(1)
  })

  test('answers that take 2 s are waited for', async () => {
    proxy.delayMs = 2_000
    expect(await store.commit({ puts: [samplePut('seen', { key: 'slow' })] })).toEqual(applied)
    proxy.delayMs = 0
  })
})

describe('a server that is killed and restarted in mid-flight', () => {
  const WORKERS = 16
  const KILLS = 4

  test('every step is applied, refused or unknown, and what was answered is there', async () => {
    const server = await startRedis({ appendfsync: 'always' })
    const options = { url: server.url, gateway: 'killed' }
    const stores = [await openRedisStore(options), await openRedisStore(options)]
    let stopping = false
    const counts = { applied: 0, conflict: 0, unknown: 0 }
    const prizes = new Map<string, string>()

    /** Writes its own row, and in the same step tries to be first at a prize that all want. */
    async function work(id: number): Promise<void> {
      const store = stores[id % stores.length]!
      const key = `worker-${id}`
      let version = 0
      const log: string[] = []
      for (let turn = 1; !stopping; turn++) {
        const prize = turn % 3 === 0 ? [samplePut('seen', { key: `prize-${turn}`, ref: key })] : []
        const event = `turn-${turn}`
        const row = sampleRow('requests', { key, version, ref: `ref-${turn % 2}`, dueAt: turn })
        const step = {
          puts: [{ table: 'requests' as const, row: { ...row, challengeId: event } }, ...prize],
          audit: [sampleAudit(key, event)],
        }
        let happened: boolean
        try {
          const { kind } = await store.commit(step)
          counts[kind] += 1
          happened = kind === 'applied'
        } catch (error) {
          expect(error).toBeInstanceOf(UnavailableError)
          counts.unknown += 1
          await recovered(store)
          const [now] = await reread(() => store.get('requests', [key]))
          happened = now?.version === version + 1
          if (happened) expect(now?.challengeId).toBe(event)
          else expect(now?.version ?? 0, 'what was answered before is still there').toBe(version)
        }
        if (!happened) continue
        version += 1
        log.push(event)
        if (prize.length > 0) {
          expect(prizes.get(`prize-${turn}`), 'nobody else had it').toBeUndefined()
          prizes.set(`prize-${turn}`, key)
        }
      }
      await recovered(store)
      const [row] = await reread(() => store.get('requests', [key]))
      expect(row).toMatchObject({ version, challengeId: log.at(-1) })
      expect((await reread(() => store.audit(key))).map(({ event }) => event)).toEqual(log)
    }

    const workers = Promise.all(Array.from({ length: WORKERS }, (_, id) => work(id)))
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(400)
      await server.kill()
      await server.restart()
    }
    await sleep(400)
    stopping = true
    await workers
    const [store] = stores
    for (const [prize, winner] of prizes) {
      expect(await store!.get('seen', [prize])).toMatchObject([{ version: 1, ref: winner }])
    }
    const listed = [...(await store!.list('requests', 'ref-0')), ...(await store!.list('requests', 'ref-1'))]
    expect(listed, 'indexes agree with rows').toHaveLength(WORKERS)
    expect(counts.applied).toBeGreaterThan(0)
    expect(counts.conflict).toBeGreaterThan(0)
    expect(counts.unknown).toBeGreaterThan(0)
    await Promise.all(stores.map((one) => one.close()))
    await server.stop()
  })

  /** A kill may come between the first answer after a restart and the next question. */
  async function reread<T>(look: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await look()
      } catch (error) {
        expect(error).toBeInstanceOf(UnavailableError)
        await sleep(20)
      }
    }
  }
})

describe('a server that is frozen', () => {
  test('every call is given up within the deadline, also later ones; it recovers automatically', async () => {
    const timeoutMs = 400
    const store = await open({ timeoutMs })
    await store.commit({ puts: [samplePut('seen', { key: 'before' })] })
    redis.freeze()
    const startedAt = performance.now()
    const timed = async (call: Promise<unknown>) => {
      const askedAt = performance.now()
      await expect(call).rejects.toThrow(UnavailableError)
      expect(performance.now() - askedAt).toBeLessThan(timeoutMs + 3_000)
    }
    try {
      while (performance.now() - startedAt < 4 * timeoutMs) {
        const keys = [0, 1, 2].map((index) => `frozen-${performance.now()}-${index}`)
        const commits = keys.map((key) => store.commit({ puts: [samplePut('seen', { key, ref: 'frozen' })] }))
        await Promise.all(
          [...commits, store.get('seen', ['before']), store.takeDue('seen', 1, 2, 3)].map(timed),
        )
        await sleep(50)
      }
    } finally {
      redis.thaw()
    }
    await recovered(store)
    expect(await store.get('seen', ['before'])).toMatchObject([{ version: 1 }])
    expect(await store.commit({ puts: [samplePut('seen', { key: 'after' })] })).toEqual(applied)
    // What waited in the socket ran or was lost: either is a whole step.
    for (const { version } of await store.list('seen', 'frozen')) expect(version).toBe(1)
    await store.close()
  })
})

describe('a server that forgot or refuses', () => {
  test('scripts (SCRIPT FLUSH, failover): each step is still applied once', async () => {
    const store = await open()
    await command('script', 'flush')
    expect(await store.commit({ puts: [], audit: [sampleAudit('x', 'once')] })).toEqual(applied)
    await command('script', 'flush')
    expect(await store.audit('x')).toHaveLength(1)
    await command('script', 'flush')
    expect(await store.takeDue('seen', 1, 2, 3)).toEqual([])
    await command('script', 'flush')
    expect(await store.list('seen', 'none')).toEqual([])
    await store.close()
  })

  test('writes, as it became a replica: unavailable, nothing is changed, and it recovers', async () => {
    const store = await open()
    await store.commit({ puts: [samplePut('seen', { key: 'a' })] })
    await command('replicaof', '127.0.0.1', '1')
    await expect(store.commit({ puts: [samplePut('seen', { key: 'a', version: 1 })] })).rejects.toThrow(
      UnavailableError,
    )
    await command('replicaof', 'no', 'one')
    await recovered(store)
    expect(await store.get('seen', ['a'])).toMatchObject([{ version: 1 }])
    expect(await store.commit({ puts: [samplePut('seen', { key: 'a', version: 1 })] })).toEqual(applied)
    await store.close()
  })

  test('writes, as memory is full: a step that does not fit leaves nothing behind', async () => {
    const small = await startRedis({ appendonly: false, config: { maxmemory: '4mb' } })
    const store = await openRedisStore({ url: small.url, onWarning: () => {} })
    let stored = 0
    for (;;) {
      const row = {
        ...sampleRow('seen', { key: `${stored}`, ref: 'r', dueAt: 1 }),
        receipt: 'x'.repeat(50_000),
      }
      const step = {
        puts: [{ table: 'seen' as const, row }, samplePut('requests', { key: `${stored}`, ref: 'r' })],
      }
      const result = await store.commit(step).catch((error: unknown) => error)
      if (result instanceof UnavailableError) {
        expect(inspect(result, { depth: 9 }), 'what was sent is not in the error').not.toContain('xxx')
        break
      }
      expect(result).toEqual(applied)
      stored += 1
    }
    expect(await store.list('seen', 'r')).toHaveLength(stored)
    expect(await store.list('requests', 'r')).toHaveLength(stored)
    expect(await store.get('seen', [`${stored}`])).toEqual([undefined])
    const [row] = await store.get('seen', ['0'])
    const removes = [{ table: 'seen' as const, key: '0', version: row!.version }]
    expect(await store.commit({ puts: [], removes }), 'what frees memory still works').toEqual(applied)
    await store.close()
    await small.stop()
  })
})

test('close waits for what was asked before it, and refuses what comes after', async () => {
  const store = await open()
  const last = store.commit({ puts: [samplePut('seen', { key: 'last' })] })
  await store.close()
  expect(await last).toEqual(applied)
  await expect(store.commit({ puts: [] })).rejects.toThrow(UnavailableError)
  await expect(store.get('seen', ['last'])).rejects.toThrow(UnavailableError)
  await expect(store.ping()).rejects.toThrow(UnavailableError)
  await store.close()
})
