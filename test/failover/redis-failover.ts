import { compareBooks } from './books.ts'
import { startLoad } from './load.ts'
import { startRedisSet } from './redis-set.ts'
import { type Scenario, seconds, unknownOf, verdictOf } from './scenario.ts'
import { openShop } from './shop.ts'

const SECRET = { SVC_SECRET_KEY: 'one-secret-for-all-instances-of-this-shop' }

/**
 * The master dies with SIGKILL while purchases run on two instances. The sentinels promote a replica, the instances follow,
 * and the old master comes back as a replica.
 */
export const redisFailover: Scenario = async ({ buyers, purchases }) => {
  const set = await startRedisSet({ 'min-replicas-to-write': '1' })
  const shop = await openShop({ REDIS_URL: set.url, ...SECRET })
  try {
    await shop.open()
    await shop.open()
    const load = await startLoad(shop, buyers, { mayForget: true })
    await load.answered(purchases)
    const underWay = load.open().length
    const killedAt = Date.now()
    await set.master.kill()
    await set.failedOver()
    const promotedAt = Date.now()
    await set.master.restart()
    await load.answered(1)
    const soldAt = Date.now()
    await load.answered(purchases)
    await load.end()
    const books = await compareBooks(shop, load.purchases)
    return verdictOf('redis-failover', books, [
      `${underWay} under way when the master was killed`,
      `another named after ${seconds(promotedAt - killedAt)}`,
      `the next sale ${seconds(soldAt - promotedAt)} later`,
      unknownOf(books),
    ])
  } finally {
    await shop.stop()
    await set.stop()
  }
}

/**
 * The same without `min-replicas-to-write`, and with replicas that have lost their master before it dies: what it
 * acknowledged meanwhile is gone. Nobody may be charged twice for one payment, and reconcile must name every payment that was forgotten.
 */
export const redisLoss: Scenario = async ({ buyers, purchases }) => {
  const set = await startRedisSet()
  const shop = await openShop({ REDIS_URL: set.url, ...SECRET })
  try {
    await shop.open()
    await shop.open()
    const load = await startLoad(shop, buyers, { mayForget: true })
    await load.answered(purchases)
    const cutAt = Date.now()
    // They cannot log in to the master any more: as a network that fails between them, and between them only.
    for (const replica of set.replicas) {
      await set.ask(replica, 'config', 'set', 'masterauth', 'wrong')
      await set.ask(replica, 'client', 'kill', 'type', 'master')
    }
    await load.answered(buyers)
    await set.master.kill()
    for (const replica of set.replicas) await set.ask(replica, 'config', 'set', 'masterauth', 'secret')
    await set.failedOver()
    await load.answered(purchases)
    await load.end()
    const books = await compareBooks(shop, load.purchases)
    const before = books.forgotten.filter(({ decidedAt }) => decidedAt! < cutAt)
    return verdictOf(
      'redis-loss',
      books,
      [unknownOf(books)],
      before.map(({ body }) => `${body.requestId} was sold before the replicas lost their master`),
    )
  } finally {
    await shop.stop()
    await set.stop()
  }
}
