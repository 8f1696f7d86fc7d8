import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../../src/testing/index.ts'
import { secretOf } from '../../src/webhooks/sign-webhook.ts'
import { compareBooks } from './books.ts'
import { startHookReceiver } from './hook-receiver.ts'
import { keyPair, restartAll } from './keys.ts'
import { startLoad } from './load.ts'
import { losses, type Scenario, verdictOf } from './scenario.ts'
import { openShop, PRICE, type Shop } from './shop.ts'

const [OLD, NEW] = ['a'.repeat(64), 'b'.repeat(64)]
const hookSecret = (byte: number) => secretOf(new Uint8Array(32).fill(byte))
/** Of the new refund wallet, in prices. */
const FUNDS = 1000n
const EVENTS_LIMIT_MS = 60_000

/**
 * All keys of two instances are replaced while purchases run, as docs/production.md says it: both know the new ones before
 * one uses them. Secret key, receipt key, gas wallet, refund wallet, webhook secret, the token API's secret, the operator's tokens.
 */
export const rotation: Scenario = async ({ buyers, purchases }) => {
  const server = await startPostgres()
  const hooks = await startHookReceiver(hookSecret(1))
  const [older, newer] = [keyPair('ec'), keyPair('ec')]
  const shop = await openShop({
    DATABASE_URL: server.url,
    SVC_SECRET_KEY: OLD,
    RECEIPT_PRIVATE_KEY: older.secret,
    ISSUE_TOKEN_API_SECRET: OLD,
    METRICS_TOKEN: `metrics-${OLD}`,
    WEBHOOK_URL: hooks.url,
    WEBHOOK_ALLOW_HOSTS: hooks.host,
    WEBHOOK_SECRET: hookSecret(1),
  })
  const wallet = (index: number) => shop.chain.account(index).privateKey
  try {
    await shop.chain.mint(shop.chain.account(3).address, FUNDS * PRICE)
    shop.tokenSecrets.push(OLD, NEW)
    await shop.open()
    await shop.open()
    const load = await startLoad(shop, buyers)
    await load.answered(purchases)
    Object.assign(shop.env, {
      SVC_SECRET_KEY: `${OLD},${NEW}`,
      RECEIPT_PRIVATE_KEY: `${older.secret}${newer.published}`,
      WEBHOOK_SECRET: `${hookSecret(1)}|${hookSecret(2)}`,
      GAS_WALLET_PRIVATE_KEY: [wallet(2), wallet(1)].join(),
    })
    await restartAll(shop)
    await load.answered(purchases)
    hooks.expect(hookSecret(2))
    shop.refundWallets.push(shop.chain.account(3).address)
    Object.assign(shop.env, {
      SVC_SECRET_KEY: `${NEW},${OLD}`,
      RECEIPT_PRIVATE_KEY: `${newer.secret}${older.published}`,
      WEBHOOK_SECRET: hookSecret(2),
      GAS_WALLET_PRIVATE_KEY: wallet(2),
      REFUND_WALLET_PRIVATE_KEY: wallet(3),
      ISSUE_TOKEN_API_SECRET: NEW,
      ADMIN_TOKEN: `operator-${NEW}`,
      METRICS_TOKEN: `metrics-${NEW}`,
    })
    await restartAll(shop)
    await load.answered(purchases)
    await load.end()
    const books = await compareBooks(shop, load.purchases)
    const settled = () => [...hooks.taken.values()].filter(({ type }) => type === 'payment.settled').length
    for (const until = Date.now() + EVENTS_LIMIT_MS; Date.now() < until; await sleep(200)) {
      if (settled() >= load.purchases.length) break
    }
    const faults = [
      ...losses(books),
      ...(settled() === load.purchases.length
        ? []
        : [`${settled()} payments were told by webhooks, of ${load.purchases.length}`]),
      ...(hooks.refused > 0 ? [`${hooks.refused} webhooks had a signature that their endpoint refused`] : []),
      ...(await oldTokens(shop)),
    ]
    const left = await shop.chain.balanceOf(shop.chain.account(3).address)
    const fromNew = FUNDS - left / PRICE
    return verdictOf(
      'rotation',
      books,
      [`${settled()} webhooks`, `${fromNew} refunds by the new wallet`],
      faults,
    )
  } finally {
    await shop.stop()
    await hooks.close()
    await server.stop()
  }
}

/** What the operator's old tokens still open, which should be nothing; the new one must. */
async function oldTokens(shop: Shop): Promise<string[]> {
  const status = async (path: string, token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${shop.instances[0]!.url}${path}`, { headers })).status
  }
  const checks = [
    { path: '/admin/api/refunds', token: 'the-token-of-the-operator', wanted: 401 },
    { path: '/admin/api/refunds', token: `operator-${NEW}`, wanted: 200 },
    { path: '/metrics', token: `metrics-${OLD}`, wanted: 401 },
    { path: '/metrics', token: `metrics-${NEW}`, wanted: 200 },
  ]
  const told = await Promise.all(
    checks.map(async (check) => ({ ...check, found: await status(check.path, check.token) })),
  )
  return told.flatMap(({ path, wanted, found }) =>
    found === wanted ? [] : [`${path} answers ${found} instead of ${wanted}`],
  )
}
