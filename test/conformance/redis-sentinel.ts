import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectRedis } from '../../src/stores/redis/connect-redis.ts'
import { type RedisServer, spawnRedis, startRedis } from '../../src/testing/redis-server.ts'

export interface SentinelSet {
  master: RedisServer
  replica: RedisServer
  sentinelPort: number
  stop(): Promise<void>
}

/** A master, its replica, and one real sentinel that decides alone and soon. */
export async function startSentinelSet(sentinelPort: number, password: string): Promise<SentinelSet> {
  const auth = { requirepass: password, masterauth: password }
  const master = await startRedis({ config: auth })
  const replica = await startRedis({ config: { ...auth, replicaof: `127.0.0.1 ${master.port}` } })
  const folder = mkdtempSync(join(tmpdir(), 'paystile-sentinel-'))
  // A sentinel writes what it learns into its own settings.
  const settings = join(folder, 'sentinel.conf')
  writeFileSync(
    settings,
    [
      `port ${sentinelPort}`,
      'bind 127.0.0.1',
      `dir ${folder}`,
      `sentinel monitor shop 127.0.0.1 ${master.port} 1`,
      `sentinel auth-pass shop ${password}`,
      'sentinel down-after-milliseconds shop 500',
      'sentinel failover-timeout shop 3000',
      '',
    ].join('\n'),
  )
  const sentinel = await spawnRedis([settings, '--sentinel'], folder, '+monitor master shop')
  await untilSynchronised(replica, password)
  await untilReplicaIsKnown(sentinelPort)
  return {
    master,
    replica,
    sentinelPort,
    async stop() {
      await sentinel.end('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
      await Promise.all([master.stop(), replica.stop()])
    },
  }
}

async function untilSynchronised(replica: RedisServer, password: string): Promise<void> {
  const admin = await connectRedis({ url: `redis://:${password}@127.0.0.1:${replica.port}` })
  while (!String(await admin.call('info', 'replication')).includes('master_link_status:up')) await sleep(50)
  admin.close()
}

async function untilReplicaIsKnown(sentinelPort: number): Promise<void> {
  const admin = await connectRedis({ url: `redis://127.0.0.1:${sentinelPort}` })
  const knows = async () => ((await admin.call('sentinel', 'replicas', 'shop')) as unknown[]).length > 0
  while (!(await knows())) await sleep(50)
  admin.close()
}
