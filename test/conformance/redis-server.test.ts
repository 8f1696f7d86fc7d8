import { existsSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { connectRedis } from '../../src/stores/redis/connect-redis.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'

const path = process.env.PATH
let redis: RedisServer | undefined
afterEach(async () => {
  process.env.PATH = path
  await redis?.stop()
  redis = undefined
})

async function call(server: RedisServer, ...args: [string, ...string[]]): Promise<unknown> {
  const connection = await connectRedis({ url: server.url, timeoutMs: 500 })
  return connection.call(...args).finally(() => connection.close())
}

test('a server of our own: killed and restarted on the same port and data, and gone without a trace', async () => {
  redis = await startRedis()
  const { port, pid, folder } = redis
  await call(redis, 'set', 'a', '1')
  await redis.kill()
  await expect(call(redis, 'get', 'a')).rejects.toThrow()
  await redis.restart()
  expect([redis.port, redis.pid === pid]).toEqual([port, false])
  expect(await call(redis, 'get', 'a')).toBe('1')
  redis.freeze()
  await expect(call(redis, 'get', 'a')).rejects.toThrow()
  redis.thaw()
  expect(await call(redis, 'get', 'a')).toBe('1')
  redis.freeze()
  await redis.stop()
  expect(existsSync(folder)).toBe(false)
  expect(() => process.kill(redis!.pid, 0)).toThrow('ESRCH')
})

test('a taken port is an error that says so', async () => {
  redis = await startRedis({ appendonly: false })
  await expect(startRedis({ port: redis.port })).rejects.toThrow(/Address already in use/)
})

test('without redis-server one line says what to install', async () => {
  process.env.PATH = '/nonexistent'
  const error = await startRedis().catch((reason: Error) => reason)
  expect(error).toBeInstanceOf(Error)
  expect((error as Error).message).toBe(
    'redis-server is missing. Install Redis first; on Debian: apt-get install redis-server',
  )
})
