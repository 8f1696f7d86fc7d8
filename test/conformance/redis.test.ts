import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectRedis } from '../../src/stores/redis/connect-redis.ts'
import { openRedisStore } from '../../src/stores/redis/redis-store.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'
import { type OpenStore, storeConformance } from '../../src/testing/store-conformance.ts'
import { sampleAudit, samplePut, sampleRow } from '../../src/testing/store-rows.ts'
import { repetitions } from '../at-length.ts'

const runs = repetitions({ few: 100, many: 2000 })

let redis: RedisServer
beforeAll(async () => {
  // What these tests ask does not depend on the disk; redis-faults.test.ts kills a server that waits for it.
  redis = await startRedis({ appendfsync: 'no' })
})
afterAll(() => redis.stop())

let opened = 0
async function open(url = redis.url): Promise<OpenStore> {
  opened += 1
  const options = { url, gateway: `check-${opened}`, onWarning: () => {} }
  let store = await openRedisStore(options)
  return {
    store,
    async reopen() {
      await store.close()
      store = await openRedisStore(options)
      return store
    },
    close: () => store.close(),
  }
}

describe('redis', () => {
  for (const { name, run } of storeConformance(() => open(), { runs })) test(name, run, 30_000 + 200 * runs)
})

describe('one node of a cluster', () => {
  test('takes every call: all keys are in one slot', async () => {
    const node = await startRedis({ appendonly: false, config: { 'cluster-enabled': 'yes' } })
    try {
      const admin = await connectRedis({ url: node.url })
      await admin.call('cluster', 'addslotsrange', '0', '16383')
      while (!String(await admin.call('cluster', 'info')).includes('cluster_state:ok')) await sleep(20)
      admin.close()
      for (const { name, run } of storeConformance(() => open(node.url), { runs: 20 })) {
        await run().catch((cause: unknown) => {
          throw new Error(`${name} (on a cluster)`, { cause })
        })
      }
    } finally {
      await node.stop()
    }
  })
})

test('gateways of other names on one server do not see each other', async () => {
  const [one, other] = [await open(), await open()]
  await one.store.commit({ puts: [samplePut('requests', { key: 'a', ref: 'r', dueAt: 1 })] })
  expect(await other.store.get('requests', ['a'])).toEqual([undefined])
  expect(await other.store.list('requests', 'r')).toEqual([])
  expect(await other.store.takeDue('requests', 9, 99, 9)).toEqual([])
  await Promise.all([one.close(), other.close()])
})

test('nothing that is stored expires', async () => {
  const { store, close } = await open()
  await store.commit({
    puts: [samplePut('challenges', { key: 'c', ref: 'r', dueAt: 1 })],
    audit: [sampleAudit('c', 'opened')],
  })
  await store.takeDue('challenges', 1, 2, 1)
  const admin = await connectRedis({ url: redis.url })
  const keys = (await admin.call('keys', `{svc:check-${opened}}*`)) as string[]
  const kinds = [
    'layout',
    'row:challenges:c',
    'ref:challenges:r',
    'due:challenges',
    'audit',
    'audit:seq',
    'audit:of:c',
  ]
  expect(keys.sort()).toEqual(kinds.map((kind) => `{svc:check-${opened}}:${kind}`).sort())
  for (const key of keys) expect(await admin.call('ttl', key), key).toBe(-1)
  admin.close()
  await close()
})

test('a step of thousands of rows and a group larger than one script are applied whole', async () => {
  const { store, close } = await open()
  const puts = Array.from({ length: 5_000 }, (_, index) =>
    samplePut('seen', { key: String(index).padStart(5, '0'), ref: 'all', dueAt: index }),
  )
  expect(await store.commit({ puts })).toEqual({ kind: 'applied' })
  const commits = puts.map(({ row }) => {
    return store.commit({ puts: [{ table: 'seen', row: sampleRow('seen', { ...row, version: 1 }) }] })
  })
  expect(new Set((await Promise.all(commits)).map(({ kind }) => kind))).toEqual(new Set(['applied']))
  const listed = await store.list('seen', 'all')
  expect(listed.map(({ key, version }) => [key, version])).toEqual(puts.map(({ row }) => [row.key, 2]))
  expect(await store.takeDue('seen', 5_000, 9_999, 10_000)).toHaveLength(5_000)
  await close()
})

describe('two stores on one server', () => {
  test('of racing inserts of one key exactly one is applied', async () => {
    const options = { url: redis.url, gateway: 'race', onWarning: () => {} }
    const stores = [await openRedisStore(options), await openRedisStore(options)]
    for (let round = 0; round < 100; round++) {
      const race = Array.from({ length: 8 }, (_, index) => {
        const put = samplePut('authorizations', { key: `nonce-${round}`, ref: `racer-${index}` })
        return stores[index % 2]!.commit({ puts: [put] })
      })
      const winners = (await Promise.all(race)).flatMap(({ kind }, index) =>
        kind === 'applied' ? [index] : [],
      )
      expect(winners).toHaveLength(1)
      for (const store of stores) {
        const [row] = await store.get('authorizations', [`nonce-${round}`])
        expect(row?.ref).toBe(`racer-${winners[0]}`)
      }
    }
    await Promise.all(stores.map((store) => store.close()))
  })

  test('no due row is handed to both, and each fences out the other', async () => {
    const options = { url: redis.url, gateway: 'jobs', onWarning: () => {} }
    const stores = [await openRedisStore(options), await openRedisStore(options)]
    const count = 500
    const puts = Array.from({ length: count }, (_, index) =>
      samplePut('outbox', { key: `${index}`, dueAt: index }),
    )
    await stores[0]!.commit({ puts })
    const takers = Array.from({ length: 100 }, (_, index) =>
      stores[index % 2]!.takeDue('outbox', count, count + 1, 7),
    )
    const taken = (await Promise.all(takers)).flat()
    expect(new Set(taken.map(({ key }) => key)).size).toBe(count)
    expect(taken).toHaveLength(count)
    const again = await stores[1]!.takeDue('outbox', count + 1, count + 2, 1)
    const held = taken.find(({ key }) => key === again[0]!.key)!
    expect(await stores[0]!.commit({ puts: [{ table: 'outbox', row: held }] })).toMatchObject({
      kind: 'conflict',
    })
    await Promise.all(stores.map((store) => store.close()))
  })
})
