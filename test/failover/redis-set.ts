import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectRedis } from '../../src/stores/redis/connect-redis.ts'
import { freePort } from '../../src/testing/free-port.ts'
import { type RedisServer, spawnRedis, startRedis } from '../../src/testing/redis-server.ts'

const REPLICAS = 2
const SENTINELS = 3
const QUORUM = 2
const PASSWORD = 'secret'

/** A master with two replicas, and three sentinels, of which two must agree. */
export interface RedisSet {
  master: RedisServer
  replicas: RedisServer[]
  url: string
  /** One command at a server. */
  ask(server: RedisServer, ...command: [string, ...string[]]): Promise<unknown>
  /** Resolves when the sentinels name another master than the first. */
  failedOver(): Promise<void>
  stop(): Promise<void>
}

export async function startRedisSet(config: Record<string, string> = {}): Promise<RedisSet> {
  const auth = { requirepass: PASSWORD, masterauth: PASSWORD, ...config }
  const master = await startRedis({ config: auth })
  const replicas: RedisServer[] = []
  for (let index = 0; index < REPLICAS; index++) {
    replicas.push(await startRedis({ config: { ...auth, replicaof: `127.0.0.1 ${master.port}` } }))
  }
  const ask: RedisSet['ask'] = async ({ port }, ...command) => {
    const admin = await connectRedis({ url: `redis://:${PASSWORD}@127.0.0.1:${port}` })
    return admin.call(...command).finally(() => admin.close())
  }
  for (const replica of replicas) {
    while (!String(await ask(replica, 'info', 'replication')).includes('master_link_status:up'))
      await sleep(50)
  }
  const sentinels = await Promise.all(Array.from({ length: SENTINELS }, () => startSentinel(master.port)))
  const atSentinel = async (port: number, ...command: [string, ...string[]]) => {
    const admin = await connectRedis({ url: `redis://127.0.0.1:${port}` })
    return admin.call(...command).finally(() => admin.close())
  }
  for (const { port } of sentinels) {
    const known = async (what: string) =>
      ((await atSentinel(port, 'sentinel', what, 'shop')) as unknown[]).length
    while ((await known('replicas')) < REPLICAS || (await known('sentinels')) < SENTINELS - 1)
      await sleep(100)
  }
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join()
  return {
    master,
    replicas,
    url: `redis+sentinel://:${PASSWORD}@${hosts}/shop/0`,
    ask,
    async failedOver() {
      const [first] = sentinels
      const named = async () =>
        (await atSentinel(first!.port, 'sentinel', 'get-master-addr-by-name', 'shop')) as string[]
      while (Number((await named())[1]) === master.port) await sleep(50)
    },
    async stop() {
      await Promise.all(sentinels.map((sentinel) => sentinel.stop()))
      await Promise.all([master, ...replicas].map((server) => server.stop()))
    },
  }
}

async function startSentinel(masterPort: number): Promise<{ port: number; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-sentinel-'))
  const port = await freePort()
  // A sentinel writes what it learns into its own settings.
  const settings = join(folder, 'sentinel.conf')
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor shop 127.0.0.1 ${masterPort} ${QUORUM}`,
    `sentinel auth-pass shop ${PASSWORD}`,
    'sentinel down-after-milliseconds shop 1000',
    'sentinel failover-timeout shop 6000',
  ]
  writeFileSync(settings, `${lines.join('\n')}\n`)
  const sentinel = await spawnRedis([settings, '--sentinel'], folder, '+monitor master shop')
  return {
    port,
    async stop() {
      await sentinel.end('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
