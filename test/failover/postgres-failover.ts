import { setTimeout as sleep } from 'node:timers/promises'
import { compareBooks } from './books.ts'
import { type Load, startLoad } from './load.ts'
import { type PostgresPair, startPostgresPair } from './postgres-pair.ts'
import { losses, type Scenario, type Size, seconds, verdictOf } from './scenario.ts'
import { openShop } from './shop.ts'

const SECRET = { SVC_SECRET_KEY: 'one-secret-for-all-instances-of-this-shop' }

/**
 * The primary dies with SIGKILL, all its processes at once, while purchases run on two instances; the standby is
 * promoted, and the instances find it by the second host of their URL.
 */
export const postgresFailover: Scenario = (size) => failOver('postgres-failover', size, async () => [])

/**
 * The same with a standby that has stopped answering before: the primary must not acknowledge anything meanwhile, or it would be
 * lost.
 */
export const postgresStall: Scenario = (size) =>
  failOver('postgres-stall', size, async (pair, load) => {
    const pids = pair.standby.pids()
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    // Answers that were on their way come now.
    await sleep(DRAIN_MS)
    const before = load.open().length
    const answered = load.purchases.length - before
    await sleep(STALL_MS)
    const meanwhile = load.purchases.length - load.open().length - answered
    await pair.primary.kill()
    for (const pid of pids.reverse()) process.kill(pid, 'SIGCONT')
    return [`${meanwhile} answered in ${seconds(STALL_MS)} without the standby`]
  })

const DRAIN_MS = 1_000
const STALL_MS = 6_000

async function failOver(
  name: string,
  { buyers, purchases }: Size,
  before: (pair: PostgresPair, load: Load) => Promise<string[]>,
) {
  const pair = await startPostgresPair()
  const shop = await openShop({ DATABASE_URL: pair.url, ...SECRET })
  try {
    await shop.open()
    await shop.open()
    const load = await startLoad(shop, buyers)
    await load.answered(purchases)
    const seen = await before(pair, load)
    const underWay = load.open().length
    const killedAt = Date.now()
    await pair.primary.kill()
    await pair.promote()
    const promotedAt = Date.now()
    await load.answered(1)
    const soldAt = Date.now()
    await load.answered(purchases)
    await load.end()
    const books = await compareBooks(shop, load.purchases)
    return verdictOf(
      name,
      books,
      [
        ...seen,
        `${underWay} under way when the primary was killed`,
        `promoted after ${seconds(promotedAt - killedAt)}`,
        `the next sale ${seconds(soldAt - promotedAt)} later`,
      ],
      losses(books),
    )
  } finally {
    await shop.stop()
    await pair.stop()
  }
}
