import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError, UnavailableError } from '../../src/errors.ts'
import { createRedisLeases } from '../../src/stores/redis/leases.ts'
import { createRedisWakeups } from '../../src/stores/redis/wakeups.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis({ appendonly: false })
})
afterAll(() => redis.stop())

async function until(look: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await look())) await sleep(10)
}

test('what one instance publishes in a turn reaches the others at once, and not itself', async () => {
  const [one, two, foreign] = await Promise.all([
    createRedisWakeups(redis.url),
    createRedisWakeups(redis.url),
    createRedisWakeups(redis.url, { gateway: 'another' }),
  ])
  const heard = { one: [] as string[][], two: [] as string[][], foreign: [] as string[][] }
  one.subscribe((ids) => heard.one.push(ids))
  const stop = two.subscribe((ids) => heard.two.push(ids))
  foreign.subscribe((ids) => heard.foreign.push(ids))
  // A subscription is under way when the instance is made; the first words may come before it.
  await until(() => {
    one.publish(['ready?'])
    return sleep(10).then(() => heard.two.length > 0)
  })
  heard.two.length = 0
  one.publish([])
  one.publish(['a', 'b'])
  one.publish(['b', 'c'])
  await until(() => heard.two.length > 0)
  expect(heard.two).toEqual([['a', 'b', 'c']])
  stop()
  one.publish(['d'])
  two.publish(['e'])
  await until(() => heard.one.length > 0)
  expect(heard).toEqual({ one: [['e']], two: [['a', 'b', 'c']], foreign: [] })
  for (const each of [one, two, foreign]) each.close()
})

test('wake-ups start without a server, survive its restart, and never throw', async () => {
  const server = await startRedis({ appendonly: false })
  await server.kill()
  const [one, two] = await Promise.all([
    createRedisWakeups(server.url, { timeoutMs: 200 }),
    createRedisWakeups(server.url, { timeoutMs: 200 }),
  ])
  const heard: string[] = []
  two.subscribe((ids) => heard.push(...ids))
  for (const round of ['first', 'second']) {
    one.publish([`${round} is lost`])
    await sleep(50)
    await server.restart()
    await until(() => {
      one.publish([round])
      return sleep(20).then(() => heard.includes(round))
    })
    await server.kill()
  }
  expect(heard.filter((id) => id.includes('lost'))).toEqual([])
  one.close()
  two.close()
  await server.stop()
  await expect(createRedisWakeups('redis://nowhere:port')).rejects.toThrow(ConfigError)
})

test('a lease is one instance’s until it is released or lapses, and then no longer its holder’s', async () => {
  const [one, two] = await Promise.all([createRedisLeases(redis.url), createRedisLeases(redis.url)])
  const race = await Promise.all([one, two, one, two].map((leases) => leases.tryTake('wallet', 60_000)))
  expect(race.filter((lease) => lease !== undefined)).toHaveLength(1)
  const held = race.find((lease) => lease !== undefined)!
  expect(await held.renew()).toBe(true)
  expect(await two.tryTake('another wallet', 60_000)).toBeDefined()
  await held.release()
  expect(await held.renew(), 'released').toBe(false)

  const short = (await one.tryTake('wallet', 30))!
  await until(async () => !(await short.renew()) || sleep(40).then(() => false))
  const next = (await two.tryTake('wallet', 60_000))!
  await short.release()
  expect(await one.tryTake('wallet', 60_000), 'a late release frees nobody else’s lease').toBeUndefined()
  expect(await next.renew()).toBe(true)
  one.close()
  two.close()
})

test('leases without a server: unavailable, and they work when it is back', async () => {
  const server = await startRedis({ appendonly: false })
  await server.kill()
  const leases = await createRedisLeases(server.url, { timeoutMs: 200 })
  await expect(leases.tryTake('wallet', 1_000)).rejects.toThrow(UnavailableError)
  await server.restart()
  await until(() => leases.tryTake('wallet', 1_000).then(Boolean, () => false))
  leases.close()
  await server.stop()
})
