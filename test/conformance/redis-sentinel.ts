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
  /** Waits until the replica has all that the master has now. */
  replicated(): Promise<void>
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
    async replicated() {
      const wanted = await offsetOf(master, password, 'master_repl_offset')
      while ((await offsetOf(replica, password, 'slave_repl_offset')) < wanted) await sleep(20)
    },
    async stop() {
      await sentinel.end('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
      await Promise.all([master.stop(), replica.stop()])
    },
  }
}

async function offsetOf({ port }: RedisServer, password: string, field: string): Promise<number> {
  const admin = await connectRedis({ url: `redis://:${password}@127.0.0.1:${port}` })
  const info = String(await admin.call('info', 'replication'))
  admin.close()
  return Number(new RegExp(`${field}:(\\d+)`).exec(info)![1])
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
