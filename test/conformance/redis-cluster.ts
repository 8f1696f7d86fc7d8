import { setTimeout as sleep } from 'node:timers/promises'
import { connectRedis } from '../../src/stores/redis/connect-redis.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'

export interface RedisCluster {
  url: string
  /** The three masters, each with a third of the slots, and one replica of the first. */
  nodes: RedisServer[]
  call(node: RedisServer, ...args: [string, ...string[]]): Promise<unknown>
  idOf(node: RedisServer): Promise<string>
  stop(): Promise<void>
}

const SLOTS = [
  ['0', '5460'],
  ['5461', '10922'],
  ['10923', '16383'],
] as const

/** A real cluster, put together by hand. `key`: lives on the first node, the one with a replica. */
export async function startRedisCluster(key: string): Promise<RedisCluster> {
  const config = { 'cluster-enabled': 'yes', 'cluster-node-timeout': '1000' }
  const nodes = await Promise.all(Array.from({ length: 4 }, () => startRedis({ config })))
  const cluster: RedisCluster = {
    url: `redis+cluster://${nodes.slice(1, 3).map(({ port }) => `127.0.0.1:${port}`)}`,
    nodes,
    async call(node, ...args) {
      const admin = await connectRedis({ url: node.url })
      return admin.call(...args).finally(() => admin.close())
    },
    idOf: async (node) => String(await cluster.call(node, 'cluster', 'myid')),
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()))
    },
  }
  const [first, , , replica] = nodes as [RedisServer, RedisServer, RedisServer, RedisServer]
  const slot = Number(await cluster.call(first, 'cluster', 'keyslot', key))
  const own = SLOTS.findIndex(([from, to]) => Number(from) <= slot && slot <= Number(to))
  const ranges = [SLOTS[own]!, ...SLOTS.filter((_, index) => index !== own)]
  for (const [index, [from, to]] of ranges.entries()) {
    await cluster.call(nodes[index]!, 'cluster', 'addslotsrange', from, to)
    await cluster.call(nodes[index]!, 'cluster', 'set-config-epoch', String(index + 1))
  }
  for (const node of nodes.slice(1)) {
    await cluster.call(first, 'cluster', 'meet', '127.0.0.1', String(node.port))
  }
  const says = async (node: RedisServer, ...args: [string, ...string[]]) =>
    String(await cluster.call(node, ...args))
  for (const node of nodes) {
    while (!(await says(node, 'cluster', 'info')).includes('cluster_state:ok')) await sleep(50)
    while ((await says(node, 'cluster', 'nodes')).match(/ connected/g)?.length !== nodes.length)
      await sleep(50)
  }
  await cluster.call(replica, 'cluster', 'replicate', await cluster.idOf(first))
  while (!(await says(replica, 'info', 'replication')).includes('master_link_status:up')) await sleep(50)
  return cluster
}
