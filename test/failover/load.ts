import { setTimeout as sleep } from 'node:timers/promises'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { type DevAccount, paymentHeader, signAuthorization } from '../../src/testing/index.ts'
import { BROKEN_PLAN, PRICE, type Shop } from './shop.ts'

/** One purchase, and what its buyer was told. */
export interface Purchase {
  buyer: DevAccount
  body: { planId: string; requestId: string }
  /** What was signed for it: more than one by a buyer who does not wait. */
  headers: string[]
  challengeId?: string
  /** The token that was handed out. */
  token?: string
  /** Its payment was promised to go back. */
  refund?: true
  /** It was told that its payment is spent, and the shop does not know for what: only a store that forgets says so. */
  unknown?: true
  /** When the buyer had its answer. */
  decidedAt?: number
}

export interface Load {
  /** Everything that was begun. */
  purchases: Purchase[]
  /** Begun and not yet answered for good. */
  open(): Purchase[]
  /** Resolves when so many more purchases than now are answered. */
  answered(more: number): Promise<void>
  /** No purchase begins any more; resolves when all that have begun are answered. */
  end(): Promise<void>
  /** Rejects with what a buyer should never be told. */
  failure: Promise<never>
}

/** Every so many purchases one is of what cannot be delivered, and one is by a buyer who signs again without an answer. */
const BROKEN_EVERY = 7
const IMPATIENT_EVERY = 5
/** As on the networks that it stands for; final two blocks later. */
const BLOCK_SECONDS = 1
const HELD = 10_000n * PRICE

/** Buyers who buy one thing after the other, each with the same request again and again until it is answered. */
export async function startLoad(
  shop: Shop,
  buyers: number,
  /** The store may forget what it acknowledged. */
  { mayForget = false } = {},
): Promise<Load> {
  const accounts = await Promise.all(
    Array.from({ length: buyers }, () => shop.chain.newBuyer({ micro: HELD })),
  )
  await shop.chain.setIntervalMining(BLOCK_SECONDS)
  const purchases: Purchase[] = []
  let ending = false
  const name = Math.random().toString(36).slice(2, 8)

  async function sign(purchase: Purchase, terms: PaymentRequired): Promise<void> {
    const accepted = terms.accepts[0]!
    const signed = await signAuthorization({ account: purchase.buyer.account, requirements: accepted })
    purchase.challengeId ??= terms.challengeId
    purchase.headers.push(paymentHeader({ accepted, ...signed }))
  }

  /** The terms, or undefined while nobody can say them. */
  async function ask({ body }: Purchase): Promise<PaymentRequired | undefined> {
    const answer = await shop.access(body)
    return answer?.status === 402 ? (answer.body as PaymentRequired) : undefined
  }

  async function buy(purchase: Purchase, impatient: boolean): Promise<void> {
    while (purchase.headers.length === 0) {
      const terms = await ask(purchase)
      if (terms) await sign(purchase, terms)
      else await sleep(100)
    }
    for (let turn = 0; ; turn++) {
      const header = purchase.headers[turn % purchase.headers.length]!
      const answer = await shop.access(purchase.body, header)
      const code = answer?.body.code
      if (answer?.status === 200) {
        purchase.token = answer.body.accessToken!
        purchase.challengeId = answer.body.challengeId!
        return
      }
      if (code === 'DELIVERY_FAILED' || code === 'CHALLENGE_REFUNDED') {
        purchase.refund = true
        return
      }
      if (code === 'TX_ALREADY_REDEEMED') {
        purchase.unknown = true
        return
      }
      const displaced =
        code === 'INVALID_REQUEST' && /belongs to another challenge/.test(answer!.body.message ?? '')
      if (mayForget && displaced && purchase.headers.length > 1) {
        // Its challenge was forgotten, and the buyer has asked for another one since: the other signature counts.
        purchase.headers = purchase.headers.filter((one) => one !== header)
        continue
      }
      if (answer && answer.status < 500) {
        throw new Error(`${purchase.body.requestId}: ${answer.status} ${JSON.stringify(answer.body)}`)
      }
      if (impatient && purchase.headers.length === 1) {
        const terms = await ask(purchase)
        if (terms) await sign(purchase, terms)
      }
      await sleep(100)
    }
  }

  async function work(buyer: DevAccount): Promise<void> {
    while (!ending) {
      const number = purchases.length
      const planId = number % BROKEN_EVERY === BROKEN_EVERY - 1 ? BROKEN_PLAN : 'basic'
      const purchase: Purchase = { buyer, body: { planId, requestId: `${name}-${number}` }, headers: [] }
      purchases.push(purchase)
      await buy(purchase, number % IMPATIENT_EVERY === 0)
      purchase.decidedAt = Date.now()
    }
  }

  const working = Promise.all(accounts.map(work))
  const failure = working.then(() => new Promise<never>(() => {}))
  failure.catch(() => {})
  const open = () => purchases.filter(({ decidedAt }) => decidedAt === undefined)
  const decided = () => purchases.length - open().length
  return {
    purchases,
    open,
    failure,
    async answered(more) {
      const wanted = decided() + more
      const counted = async () => {
        while (decided() < wanted) await sleep(20)
      }
      await Promise.race([counted(), failure])
    },
    async end() {
      ending = true
      await working
    },
  }
}
