import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ConfigError, UnavailableError } from '../../src/errors.ts'
import type { Store } from '../../src/ports.ts'
import { openRedisStore } from '../../src/stores/redis/redis-store.ts'
import { createRedisTurns } from '../../src/stores/redis/turns.ts'
import { createRedisWakeups } from '../../src/stores/redis/wakeups.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'
import { storeConformance } from '../../src/testing/store-conformance.ts'
import { sampleAudit, samplePut } from '../../src/testing/store-rows.ts'
import { type RedisCluster, startRedisCluster } from './redis-cluster.ts'

const applied = { kind: 'applied' }
let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startRedisCluster('{svc:shop}')
})
afterAll(() => cluster?.stop())

let opened = 0
function openAny(): Promise<Store> {
  opened += 1
  return openRedisStore({ url: cluster.url, gateway: `any-${opened}` })
}

const openShop = () => openRedisStore({ url: cluster.url, gateway: 'shop' })

/** Tries until it is answered; what happens meanwhile is unavailability and nothing else. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      expect(error).toBeInstanceOf(UnavailableError)
      await sleep(50)
    }
  }
}

describe('a cluster of three masters', () => {
  test('keeps every promise of a store, whichever node has the slot', async () => {
    const open = async () => {
      const store = await openAny()
      return { store, close: () => store.close() }
    }
    for (const { name, run } of storeConformance(open, { runs: 20 })) {
      await run().catch((cause: unknown) => {
        throw new Error(`${name} (on a cluster)`, { cause })
      })
    }
  })

  test('carries wake-ups and turns', async () => {
    const [one, two] = await Promise.all([0, 1].map(() => createRedisWakeups(cluster.url)))
    const heard: string[] = []
    two!.subscribe((ids) => heard.push(...ids))
    while (!heard.includes('a')) {
      one!.publish(['a'])
      await sleep(20)
    }
    const turns = createRedisTurns(cluster.url)
    const end = await turns.take('wallet')
    end()
    for (const each of [one!, two!, turns]) each.close()
  })

  test('moves the slot to another node: unavailable while the rows are on both, and nothing is lost or done twice', async () => {
    const [from, to] = cluster.nodes as [RedisServer, RedisServer]
    const store = await openShop()
    const puts = Array.from({ length: 50 }, (_, index) =>
      samplePut('seen', { key: `row-${index}`, ref: 'all' }),
    )
    await store.commit({ puts, audit: [sampleAudit('c', 'opened')] })
    const slot = String(await cluster.call(from, 'cluster', 'keyslot', '{svc:shop}'))
    const [fromId, toId] = [await cluster.idOf(from), await cluster.idOf(to)]
    await cluster.call(to, 'cluster', 'setslot', slot, 'importing', fromId)
    await cluster.call(from, 'cluster', 'setslot', slot, 'migrating', toId)
    for (let moved = 0; ; moved++) {
      const keys = (await cluster.call(from, 'cluster', 'getkeysinslot', slot, '10')) as string[]
      if (keys.length === 0) break
      await cluster.call(from, 'migrate', '127.0.0.1', String(to.port), '', '0', '5000', 'keys', ...keys)
      // A row that is on the other node already must not look like one that never was.
      await expect(store.commit({ puts: [samplePut('seen', { key: `row-${moved}` })] })).rejects.toThrow(
        UnavailableError,
      )
    }
    for (const node of cluster.nodes.slice(0, 3))
      await cluster.call(node, 'cluster', 'setslot', slot, 'node', toId)
    const [row] = await answered(() => store.get('seen', ['row-0']))
    expect(row).toMatchObject({ version: 1 })
    expect(await store.list('seen', 'all')).toHaveLength(50)
    expect(await store.commit({ puts: [samplePut('seen', { key: 'row-1' })] })).toMatchObject({
      kind: 'conflict',
    })
    expect(await store.audit('c')).toHaveLength(1)
    await store.close()
  })
})

test('a cluster whose master dies goes on with the replica', async () => {
  const shop = await startRedisCluster('{svc:shop}')
  try {
    const store = await openRedisStore({ url: shop.url, gateway: 'shop' })
    const [master] = shop.nodes as [RedisServer]
    await store.commit({ puts: [samplePut('seen', { key: 'before' })] })
    const copied = async () => (await shop.call(master, 'wait', '1', '1000')) === 1
    while (!(await copied())) await sleep(50)
    await master.kill()
    await expect(store.commit({ puts: [samplePut('seen', { key: 'during' })] })).rejects.toThrow(
      UnavailableError,
    )
    expect(await answered(() => store.get('seen', ['before']))).toMatchObject([{ version: 1 }])
    expect(await answered(() => store.commit({ puts: [samplePut('seen', { key: 'after' })] }))).toEqual(
      applied,
    )
    await store.close()
  } finally {
    await shop.stop()
  }
})

test('a server that is no cluster is refused in one line', async () => {
  const single = await startRedis({ appendonly: false })
  const open = openRedisStore({ url: `redis+cluster://127.0.0.1:${single.port}` })
  const error = await open.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ConfigError)
  expect(String(error)).toMatch(/cluster support disabled/)
  await single.stop()
})
