import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'vitest'
import type { Store } from '../../src/ports.ts'
import { openRedisStore } from '../../src/stores/redis/redis-store.ts'
import { openSqliteStore } from '../../src/stores/sql/sqlite.ts'
import { startRedis } from '../../src/testing/redis-server.ts'
import { sampleAudit, samplePut } from '../../src/testing/store-rows.ts'

async function rate(store: Store, callers: number, tag: string): Promise<string> {
  let n = 0
  let stop = false
  const lat: number[] = []
  const start = performance.now()
  const run = async (id: number) => {
    for (let i = 0; !stop; i++) {
      const c = `${tag}-${callers}-${id}-${i}`
      const t = performance.now()
      const r = await store.commit({
        puts: [
          samplePut('challenges', { key: c, dueAt: 1750000000000 + i }),
          samplePut('authorizations', { key: `8453:${c}`, ref: c, dueAt: 1750000000000 + i }),
        ],
        audit: [sampleAudit(c, 'claimed')],
      })
      if (r.kind !== 'applied') throw new Error('conflict')
      lat.push(performance.now() - t)
      n++
    }
  }
  setTimeout(() => {
    stop = true
  }, 3000)
  await Promise.all(Array.from({ length: callers }, (_, id) => run(id)))
  const s = (performance.now() - start) / 1000
  lat.sort((a, b) => a - b)
  return `${tag} ${callers} callers: ${(n / s).toFixed(0)}/s p50 ${lat[Math.floor(n / 2)]!.toFixed(2)} p99 ${lat[Math.floor(n * 0.99)]!.toFixed(2)} ms`
}

test('bench', async () => {
  const out: string[] = []
  for (const appendfsync of (process.env.MODES ?? 'always,everysec').split(',') as Array<
    'always' | 'everysec' | 'no'
  >) {
    const redis = await startRedis({ appendfsync })
    const store = await openRedisStore({ url: redis.url, onWarning: () => {} })
    const admin = await (await import('../../src/stores/redis/connect-redis.ts')).connectRedis({
      url: redis.url,
    })
    for (const callers of [256]) {
      await admin.call('config', 'resetstat')
      const cpu = process.cpuUsage()
      out.push(await rate(store, callers, `redis-${appendfsync}`))
      const used = process.cpuUsage(cpu)
      const info = String(await admin.call('info', 'everything'))
      out.push(
        `   node cpu ${((used.user + used.system) / 1e6).toFixed(2)} s  ` +
          [
            ...info.matchAll(
              /^(cmdstat_(?:evalsha|set|get|zadd|xadd|rpush|incr):.*?usec_per_call=[\d.]+|used_cpu_(?:user|sys):.*|instantaneous_input_kbps.*)/gm,
            ),
          ]
            .map((m) => m[1])
            .join('\n      '),
      )
    }
    admin.close()
    await store.close()
    await redis.stop()
  }
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  const store = openSqliteStore({ path: join(folder, 'x.db') })
  for (const callers of [1]) out.push(await rate(store, callers, 'sqlite'))
  await store.close()
  rmSync(folder, { recursive: true })
  console.log(out.join('\n'))
  console.log((await import('node:os')).loadavg())
}, 120_000)
