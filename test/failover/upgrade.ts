import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { startPostgres } from '../../src/testing/index.ts'
import { compareBooks } from './books.ts'
import { buildEarlierVersion } from './earlier-program.ts'
import { startLoad } from './load.ts'
import { losses, type Scenario, verdictOf } from './scenario.ts'
import { openShop } from './shop.ts'

const INSTANCES = 2

/**
 * Two processes of the version before the newest store format sell on one Postgres; one by one they are replaced by this
 * version, which brings the tables up to date while the other still writes. One is stopped as an operator does it, one killed.
 */
export const upgrade: Scenario = async ({ buyers, purchases }) => {
  const earlier = buildEarlierVersion()
  const server = await startPostgres()
  const shop = await openShop({
    DATABASE_URL: server.url,
    SVC_SECRET_KEY: 'one-secret-for-all-instances-of-this-shop',
  })
  const admin = postgres(server.url, { max: 1, onnotice: () => {} })
  const phases = async () => {
    const rows = await admin`SELECT DISTINCT body::json->>'phase' AS phase FROM paystile.authorizations`
    return rows.map(({ phase }) => String(phase))
  }
  const names = async () => (await admin`SELECT name FROM paystile.migrations`).map(({ name }) => name)
  try {
    for (let count = 0; count < INSTANCES; count++) await shop.open(earlier.program)
    const load = await startLoad(shop, buyers)
    await load.answered(purchases)
    const faults = (await names()).includes(earlier.lacks) ? [`the earlier version has ${earlier.lacks}`] : []
    // Money is between the phases when the first of the new version starts.
    const open = new Set<string>()
    let upgraded = false
    const seeing = (async () => {
      while (!upgraded) {
        for (const phase of await phases()) open.add(phase)
        await sleep(20)
      }
    })()
    await shop.replace(0, 'SIGTERM')
    await load.answered(purchases)
    await shop.replace(1, 'SIGKILL')
    upgraded = true
    await seeing
    await load.answered(purchases)
    await load.end()
    if (!(await names()).includes(earlier.lacks)) faults.push(`this version did not add ${earlier.lacks}`)
    const books = await compareBooks(shop, load.purchases)
    return verdictOf(
      'upgrade',
      books,
      [
        `from ${earlier.commit}, whose store lacks ${earlier.lacks}`,
        `attempts seen in ${[...open].join(', ')}`,
      ],
      [...faults, ...losses(books)],
    )
  } finally {
    await shop.stop()
    await admin.end()
    await server.stop()
  }
}
