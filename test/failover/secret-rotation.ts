import { jwtVerify } from 'jose'
import { startPostgres } from '../../src/testing/index.ts'
import { compareBooks } from './books.ts'
import { restartAll } from './keys.ts'
import { type Load, startLoad } from './load.ts'
import { CALL_PATH, startCalls, startSignedBackend } from './paid-calls.ts'
import { losses, type Scenario, verdictOf } from './scenario.ts'
import { openShop, PRICE, type Shop } from './shop.ts'

const SECRETS = { old: 'o'.repeat(40), new: 'n'.repeat(40) }
const TOKENS = { old: 'of-the-old-secret-that-signed-tokens', new: 'of-the-new-secret-that-signs-tokens' }

/**
 * What has one value at a time is replaced on two instances, one by one, while they sell: the wallet that is paid, the
 * secret of tokens and the secret by which the backend knows the gateway, which accepts both meanwhile. Every payment is
 * booked where it went, and a buyer whose token ended gets another one for the same payment.
 */
export const secretRotation: Scenario = async ({ buyers, purchases }) => {
  const server = await startPostgres()
  const backend = await startSignedBackend(SECRETS)
  const shop = await openShop({
    DATABASE_URL: server.url,
    SVC_SECRET_KEY: 'one-secret-for-all-instances-of-this-shop',
    TOKEN_SECRET: TOKENS.old,
    PROXY_TO_BASE_URL: backend.url,
    PROXY_SECRET: SECRETS.old,
    ROUTES: JSON.stringify([{ routeId: 'ping', method: 'GET', path: CALL_PATH, unitAmount: '$1.00' }]),
  })
  // Tokens are made here and not by an API.
  delete shop.env.ISSUE_TOKEN_API
  const newWallet = shop.chain.account(4).address
  try {
    await shop.open()
    await shop.open()
    const [load, calls] = await Promise.all([startLoad(shop, buyers), startCalls(shop)])
    await load.answered(purchases)
    shop.sellers.push(newWallet)
    Object.assign(shop.env, {
      SVC_WALLET_ADDRESS: newWallet,
      TOKEN_SECRET: TOKENS.new,
      PROXY_SECRET: SECRETS.new,
    })
    await restartAll(shop)
    await load.answered(purchases)
    await load.end()
    const faults = await calls.end()
    const books = await compareBooks(shop, load.purchases)
    const toNew = (await shop.chain.balanceOf(newWallet)) / PRICE
    const counts = (['old', 'new'] as const).map(
      (name) => calls.signedWith.filter((one) => one === name).length,
    )
    if (toNew === 0n || counts.includes(0)) faults.push('what was replaced was never used')
    faults.push(...(await endedTokens(shop, load)))
    return verdictOf(
      'secret-rotation',
      books,
      [
        `${toNew} payments to the new wallet`,
        `calls signed with the old and the new secret: ${counts.join(', ')}; ${calls.refused()} offers of the other wallet refused`,
      ],
      [...losses(books), ...faults],
    )
  } finally {
    await shop.stop()
    await backend.close()
    await server.stop()
  }
}

/** The payment of a token that the old secret signed, sent again, brings one that the new secret verifies. */
async function endedTokens(shop: Shop, { purchases }: Load): Promise<string[]> {
  const verifies = (token: string | undefined, secret: string) =>
    jwtVerify(token ?? '', Buffer.from(secret)).then(
      () => true,
      () => false,
    )
  for (const { body, headers, token } of purchases) {
    if (!(await verifies(token, TOKENS.old))) continue
    const again = await shop.access(body, headers[0])
    return (await verifies(again?.body.accessToken, TOKENS.new))
      ? []
      : [`the token of ${body.requestId} was not replaced by one of the new secret`]
  }
  return ['no token was signed with the old secret']
}
