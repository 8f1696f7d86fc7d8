import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError } from '../../src/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect-redis.ts'
import { createRedisTurns } from '../../src/stores/redis/turns.ts'
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

test('turns: one instance at a time, in another’s way only by the same name', async () => {
  const [one, two] = [createRedisTurns(redis.url), createRedisTurns(redis.url)]
  for (let timely = false; !timely; ) {
    const startedAt = performance.now()
    const end = await one.take('wallet')
    let has = false
    const next = two.take('wallet').then((endNext) => {
      has = true
      return endNext
    })
    await sleep(30)
    const hadBoth = has
    end()
    ;(await next)()
    // A machine that stood still meanwhile proves nothing: nobody waits for longer than half a second.
    timely = performance.now() - startedAt < 400
    if (timely) expect(hadBoth).toBe(false)
  }
  const [first, other] = await Promise.all([one.take('wallet'), two.take('another wallet')])
  first()
  other()
  one.close()
  two.close()
})

test('a turn whose holder never ends it lapses; ended late, it takes nothing from the next', async () => {
  const [one, two] = [createRedisTurns(redis.url), createRedisTurns(redis.url)]
  const key = '{svc:default}:turn:slow wallet'
  const admin = await connectRedis({ url: redis.url })
  let lapsed = () => {}
  await until(async () => {
    lapsed = await one.take('slow wallet')
    return Number(await admin.call('pttl', key)) > 0
  })
  await until(async () => (await admin.call('exists', key)) === 0)
  const end = await two.take('slow wallet')
  const token = await admin.call('get', key)
  lapsed()
  await sleep(50)
  expect(await admin.call('get', key)).toBe(token)
  end()
  await until(async () => (await admin.call('exists', key)) === 0)
  for (const each of [admin, one, two]) each.close()
})

test('no turn is waited for long, nor at all without a server; turns work again when it is back', async () => {
  const server = await startRedis({ appendonly: false })
  const [one, two] = [createRedisTurns(server.url), createRedisTurns(server.url)]
  // Both return, although no turn is ended.
  await one.take('wallet')
  await two.take('wallet')
  server.freeze()
  await one.take('wallet')
  server.thaw()
  await server.kill()
  const late = createRedisTurns(server.url)
  for (const turns of [one, two, late]) (await turns.take('wallet'))()
  await server.restart()
  const admin = await connectRedis({ url: server.url })
  await until(async () => {
    await late.take('wallet')
    return (await admin.call('exists', '{svc:default}:turn:wallet')) === 1
  })
  for (const each of [admin, one, two, late]) each.close()
  await server.stop()
})
