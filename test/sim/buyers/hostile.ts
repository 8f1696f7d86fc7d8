import type { PaymentPayload } from '../../../src/protocol/payment.ts'
import { tokensOf } from '../chain/branch.ts'
import { signAuthorization } from '../keys.ts'
import { address } from '../world.ts'
import {
  askTerms,
  type Buyer,
  chainNow,
  chainOf,
  paidIntent,
  payUntilKnown,
  type Shop,
  see,
  sign,
} from './shop.ts'

const SINK = address('sink', 1)

/** Pays, and meddles on the chain before, meanwhile or after. */
function meddler(meddle: (shop: Shop, buyer: Buyer, payment: PaymentPayload) => void) {
  return async (shop: Shop, buyer: Buyer): Promise<void> => {
    const { dice, scheduler } = shop.world
    const terms = await askTerms(shop, buyer)
    if (!terms) return
    const payment = sign(shop, buyer, terms)
    if (dice.chance(0.3)) {
      meddle(shop, buyer, payment)
      await scheduler.sleep(dice.skewed(0, 20_000))
    } else scheduler.after(dice.skewed(0, 30_000), () => meddle(shop, buyer, payment), true)
    const reply = await payUntilKnown(shop, buyer, payment)
    const again = typeof reply !== 'string' && reply.kind === 'failed' && reply.required
    if (again && dice.chance(0.5)) await payUntilKnown(shop, buyer, sign(shop, buyer, again))
  }
}

export const cancelMeanwhile = meddler((shop, buyer, payment) => {
  const { payload } = payment
  shop.world.count('cancellations')
  chainOf(shop, payment).send([
    { kind: 'cancel', key: { payer: buyer.address, nonce: payload.authorization.nonce } },
  ])
})

export const drainMeanwhile = meddler((shop, buyer, payment) => {
  const chain = chainOf(shop, payment)
  shop.world.count('drained balances')
  const value = tokensOf(chain.head(), chain.token.initial, buyer.address)
  chain.send([{ kind: 'transfer', from: buyer.address, to: SINK, value }])
})

/** Sends its own authorization to the chain: any use pays, but one before our claim is not ours. */
export const broadcastItself = meddler((shop, _buyer, payment) => {
  shop.world.count('broadcast by buyers')
  const { authorization, signature } = payment.payload
  chainOf(shop, payment).send([{ kind: 'authorized', auth: { ...authorization, signature } }])
})

/** Takes the order back while it is being paid. */
export const cancelOrder = meddler((shop, { route }, { accepted = {} }) => {
  shop.world.count('orders cancelled')
  const call = route?.call
  // With its terms also what was never stored.
  const offered = shop.world.extraDice.chance(0.7) ? { accepted, ...(call && { call }) } : undefined
  void shop.cancel(accepted.extra?.challengeId ?? '', offered)
})

/** One payment for two orders of its own, at once. */
export async function payOnceForTwo(shop: Shop, buyer: Buyer): Promise<void> {
  const first = await askTerms(shop, buyer)
  buyer.requestId = `second-${buyer.name}`
  const second = await askTerms(shop, buyer)
  if (!first || !second) return
  const payment = sign(shop, buyer, first)
  const index = first.accepts.findIndex(({ network }) => network === payment.accepted?.network)
  const copy = { ...payment, accepted: second.accepts[index]! }
  buyer.requestId = undefined
  await Promise.all([payment, copy].map((one) => payUntilKnown(shop, buyer, one)))
}

/** Many purchases of its own at once: whatever one may cost us, all of them together would cost so often. */
export async function buyManyAtOnce(shop: Shop, buyer: Buyer): Promise<void> {
  await Promise.all(
    Array.from({ length: 7 }, async () => {
      const one = { ...buyer, requestId: undefined }
      const terms = await askTerms(shop, one)
      if (!terms) return
      shop.world.count('payments at once')
      await payUntilKnown(shop, one, sign(shop, one, terms), 3)
    }),
  )
}

/** Lets the challenge, or the validity of its own signature, run out before it pays. */
export async function payLate(shop: Shop, buyer: Buyer): Promise<void> {
  const { dice, scheduler, weather } = shop.world
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  const early = sign(shop, buyer, terms)
  await scheduler.sleep(
    dice.int(Math.round(weather.config.challengeTtlMs * 0.7), weather.config.challengeTtlMs + 5_000),
  )
  await payUntilKnown(shop, buyer, dice.chance(0.3) ? early : sign(shop, buyer, terms))
}

/** Signs or says something else than what was asked. Nothing may come of it. */
export async function tamper(shop: Shop, buyer: Buyer): Promise<void> {
  const { dice } = shop.world
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  for (let turn = 0; turn < 3; turn++) {
    const price = BigInt(terms.accepts[0]!.amount)
    const payment = sign(
      shop,
      buyer,
      terms,
      dice.pick([
        { value: String(price - 1n) },
        { value: String(price + 1n) },
        { value: '1' },
        { to: SINK },
        { to: buyer.address },
        { validSeconds: 3 },
        { validSeconds: 100_000 },
        { validAfter: String(chainNow(shop) + 30) },
      ]),
    )
    if (dice.chance(0.3)) payment.accepted!.amount = payment.payload.authorization.value
    if (dice.chance(0.2)) {
      // The right words under a signature of other words.
      payment.payload.signature = signAuthorization(
        payment.payload.authorization,
        chainOf(shop, payment).network,
      )
      payment.payload.authorization.value = String(price)
      payment.payload.authorization.validBefore = String(chainNow(shop) + 60)
      payment.payload.authorization.nonce = dice.hex(32)
    }
    // A node that lags, or a chain of slow blocks, shows a time at which there is enough left; what then lands in time is paid
    // like any other.
    const now = chainNow(shop)
    const left = Number(payment.payload.authorization.validBefore) - now
    const behind = now - chainOf(shop, payment).head().block.timestamp
    const inTime = left <= 3 && (shop.world.weather.stale > 0 || behind > 2)
    const reply = see(shop, buyer, 'tampered', await shop.ask(paidIntent(shop, buyer, payment)))
    if (typeof reply !== 'string' && reply.kind === 'granted' && !inTime) {
      shop.world.violate('I3', `${buyer.name} was granted access for a tampered payment`)
    }
  }
}
