import { createRemoteJWKSet, jwtVerify } from 'jose'
import { startPostgres } from '../../src/testing/index.ts'
import { compareBooks } from './books.ts'
import { keyPair, restartAll } from './keys.ts'
import { startLoad } from './load.ts'
import { losses, type Scenario, verdictOf } from './scenario.ts'
import { openShop } from './shop.ts'

/**
 * The key that signs tokens is replaced while two instances sell: both publish the new one before one signs with it. Every
 * token, from before and after, must verify by what each instance publishes in the end.
 */
export const tokenRotation: Scenario = async ({ buyers, purchases }) => {
  const server = await startPostgres()
  const [older, newer] = [keyPair('rsa'), keyPair('rsa')]
  const shop = await openShop({
    DATABASE_URL: server.url,
    SVC_SECRET_KEY: 'one-secret-for-all-instances-of-this-shop',
    TOKEN_PRIVATE_KEY: older.secret,
  })
  // Tokens are made here and not by an API.
  delete shop.env.ISSUE_TOKEN_API
  try {
    await shop.open()
    await shop.open()
    const load = await startLoad(shop, buyers)
    await load.answered(purchases)
    shop.env.TOKEN_PRIVATE_KEY = `${older.secret}${newer.published}`
    await restartAll(shop)
    await load.answered(purchases)
    shop.env.TOKEN_PRIVATE_KEY = `${newer.secret}${older.published}`
    await restartAll(shop)
    await load.answered(purchases)
    await load.end()
    const books = await compareBooks(shop, load.purchases)
    const kids = new Map<string, number>()
    const faults: string[] = []
    for (const { url } of shop.instances) {
      const published = createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`))
      for (const { body, token } of load.purchases) {
        const verified = await jwtVerify(token ?? '', published).catch(() => undefined)
        if (!verified) faults.push(`the token of ${body.requestId} is not verified by ${url}`)
        const kid = String(verified?.protectedHeader.kid)
        kids.set(kid, (kids.get(kid) ?? 0) + 1)
      }
    }
    if (kids.size !== 2) faults.push(`tokens were signed by ${kids.size} keys, and not by 2`)
    const counts = [...kids.values()].map((count) => count / shop.instances.length)
    return verdictOf(
      'token-rotation',
      books,
      [`tokens by each key: ${counts.join(', ')}`],
      [...losses(books), ...faults],
    )
  } finally {
    await shop.stop()
    await server.stop()
  }
}
