import { setTimeout as sleep } from 'node:timers/promises'
import type { Discrepancy } from '../../src/reconcile/discrepancy.ts'
import { cliProcess } from '../e2e/cli-terminal.ts'
import type { Purchase } from './load.ts'
import { PRICE, type Shop } from './shop.ts'

/** What chain, store and buyers say of all purchases, and where they do not agree. */
export interface Books {
  delivered: number
  refunded: number
  /** Transfers to the seller, surplus included. */
  paid: number
  /** Told to their buyers, or paid by them, and unknown to the store now. */
  forgotten: Purchase[]
  /** Who has made the payments that `paystile reconcile` calls unknown to the store, each as often. */
  orphans: string[]
  /** Payments that it calls unknown and returned. */
  returned: number
  faults: string[]
}

const LIMIT_MS = 90_000

/**
 * Compares to the unit. Each purchase is delivered and paid once, or paid and refunded, net of what came twice; each
 * buyer who sends its payment again gets what it was given, uncharged; and `paystile reconcile` finds the chain's own logs in
 * the records. What a store has forgotten must be what reconcile names, payer by payer.
 */
export async function compareBooks(shop: Shop, purchases: readonly Purchase[]): Promise<Books> {
  const faults: string[] = []
  const replays = await inTurn(purchases, async (purchase) => ({
    purchase,
    ...(await replay(shop, purchase)),
  }))
  for (const { purchase, kind, says } of replays) {
    if (kind === 'wrong') faults.push(`${purchase.body.requestId} was answered, and is now ${says}`)
  }
  const delivered = purchases.filter(({ token }) => token !== undefined)
  const tokens = new Set(delivered.map(({ token }) => token))
  if (tokens.size < delivered.length) faults.push(`${delivered.length - tokens.size} were delivered to two`)
  const known = replays.flatMap(({ purchase, kind }) => (kind === 'same' && purchase.token ? [purchase] : []))

  // A refund, of surplus too, waits until its payment is final, and so does what reconcile compares.
  let agreed = await compareMoney(shop, purchases, known)
  for (const until = Date.now() + LIMIT_MS; agreed.faults.length > 0 && Date.now() < until; ) {
    await sleep(500)
    agreed = await compareMoney(shop, purchases, known)
  }
  return {
    delivered: delivered.length,
    refunded: purchases.filter(({ refund }) => refund).length,
    paid: agreed.paid,
    forgotten: replays.flatMap(({ purchase, kind }) => (kind === 'forgotten' ? [purchase] : [])),
    orphans: agreed.orphans,
    returned: agreed.returned,
    faults: [...faults, ...agreed.faults],
  }
}

/** A built-in token is signed again by the key of now; what it claims must be the same. */
function sameGrant(one: string, other: string): boolean {
  const claimsOf = (token: string) => (token.startsWith('eyJ') ? token.split('.')[1] : token)
  return claimsOf(one) === claimsOf(other)
}

type Replay = { kind: 'same' | 'forgotten' | 'wrong'; says?: string }

/** The payment again, as a buyer sends it who has lost the answer. */
async function replay(shop: Shop, { body, headers, token, refund, unknown }: Purchase): Promise<Replay> {
  for (let turn = 0; ; turn++) {
    const answer = await shop.access(body, headers[turn % headers.length])
    if (!answer || answer.status === 503) {
      await sleep(100)
      continue
    }
    const { code, accessToken } = answer.body
    if (token !== undefined && answer.status === 200 && sameGrant(accessToken!, token))
      return { kind: 'same' }
    if (refund && code === 'CHALLENGE_REFUNDED') return { kind: 'same' }
    if (code === 'TX_ALREADY_REDEEMED') return { kind: 'forgotten' }
    if (unknown) return { kind: 'same' }
    return { kind: 'wrong', says: `${answer.status} ${code ?? accessToken}` }
  }
}

/** What each buyer has paid, net of refunds, must be the price of what the store says it has, and what it does not know. */
async function compareMoney(shop: Shop, purchases: readonly Purchase[], known: readonly Purchase[]) {
  const { chain } = shop
  const { found, orphans, returned } = await reconcile(shop)
  const faults = found.map(({ kind, message }) => `reconcile: ${kind}: ${message}`)
  const incoming = (await Promise.all(shop.sellers.map((seller) => chain.transfersTo(seller)))).flat()
  for (const address of new Set(purchases.map(({ buyer }) => buyer.address))) {
    const back = (await chain.transfersTo(address)).filter(({ from }) =>
      shop.refundWallets.some((wallet) => same(from, wallet)),
    )
    const sent = incoming.filter(({ from }) => same(from, address))
    const net = sum(sent) - sum(back)
    const has = known.filter(({ buyer }) => buyer.address === address).length
    const unknown = orphans.filter((payer) => same(payer, address)).length
    if (net === BigInt(has + unknown) * PRICE) continue
    faults.push(
      `${address} has paid ${net} net of refunds, has ${has} things and ${unknown} unknown payments`,
    )
  }
  return { faults, orphans, returned, paid: incoming.length }
}

const same = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
const sum = (list: ReadonlyArray<{ value: bigint }>) => list.reduce((all, { value }) => all + value, 0n)

async function reconcile(shop: Shop) {
  const { output, errors } = await cliProcess(shop.env, 'reconcile', '--json')
  if (output === '') throw new Error(`reconcile said nothing: ${errors}`)
  const { found } = JSON.parse(output) as { found?: Discrepancy[] }
  // It could not compare, for example while the store is busy: it is asked again.
  if (!found) return { found: [{ kind: 'unanswered', message: output }], orphans: [], returned: 0 }
  const unknown = found.filter(({ challengeId }) => challengeId === null)
  const payerOf = ({ message }: Discrepancy) => /^0x[0-9a-f]{40}/i.exec(message)?.[0] ?? message
  return {
    found: found.filter((one) => !unknown.includes(one)),
    orphans: unknown.filter(({ kind }) => kind === 'orphan-payment').map(payerOf),
    returned: unknown.filter(({ kind }) => kind === 'refund-unrecorded').length,
  }
}

/** A few at a time: a replay is a question, not a load. */
async function inTurn<T, R>(list: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < list.length; at += 8)
    results.push(...(await Promise.all(list.slice(at, at + 8).map(work))))
  return results
}
