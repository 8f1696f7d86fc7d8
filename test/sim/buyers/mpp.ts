import { ERROR_CODES } from '../../../src/protocol/error-codes.ts'
import { signAuthorization } from '../keys.ts'
import { address } from '../world.ts'
import { type Credential, credentialOf, type WirePayment } from './credential.ts'
import {
  askTerms,
  type Buyer,
  chainOf,
  paidIntent,
  payUntilKnown,
  type Reply,
  type Shop,
  see,
  sign,
} from './shop.ts'
import type { WireRequired } from './wire.ts'

/** MPP's client signs every 402 that it is answered, at most so often. */
const SIGNATURES = 3

/** Like MPP's own client: whatever 402 it gets is signed. What is unknown it sends again. */
export async function buyByMpp(shop: Shop, buyer: Buyer): Promise<void> {
  let terms = await askTerms(shop, buyer)
  for (let turn = 0; terms && turn < SIGNATURES; turn++) {
    if (turn > 0) shop.world.count('402s signed anew by MPP')
    terms = termsIn(await payUntilKnown(shop, buyer, sign(shop, buyer, terms)))
  }
}

function termsIn(reply: Reply): WireRequired | undefined {
  if (typeof reply === 'string') return undefined
  if (reply.kind === 'challenge') return reply.required
  const is402 = reply.kind === 'failed' && ERROR_CODES[reply.error.code].httpStatus === 402
  return is402 ? reply.required : undefined
}

/** Pays one challenge in both dialects at once, by two signatures. */
export async function payInBothDialects(shop: Shop, buyer: Buyer): Promise<void> {
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  shop.world.count('paid in both dialects')
  const both = [sign(shop, buyer, terms), sign(shop, { ...buyer, speaksMpp: false }, terms)]
  await Promise.all(both.map((payment) => payUntilKnown(shop, buyer, payment)))
}

/** Sends one signature in both dialects. With the salt of its id it is the same payment. */
export async function repeatInX402(shop: Shop, buyer: Buyer): Promise<void> {
  const { mppDice, scheduler } = shop.world
  const terms = await askTerms(shop, buyer)
  if (!terms) return
  const payment = sign(shop, buyer, terms)
  const { credential, ...copy } = payment
  if (credential) {
    shop.world.count('repeated in the other dialect')
    copy.accepted!.extra!.salt = saltOf(credential)
  }
  const first = payUntilKnown(shop, buyer, payment)
  if (mppDice.chance(0.5)) await scheduler.sleep(mppDice.skewed(0, 20_000))
  await Promise.all([first, payUntilKnown(shop, buyer, copy)])
}

const saltOf = ({ challenge: { id } }: Credential): string => id.slice(id.indexOf('.') + 1)

const SINK = address('sink', 1)

/** Changes something about the challenge or the authorization, and signs that. Nothing may come of it. */
export async function tamperCredential(shop: Shop, buyer: Buyer): Promise<void> {
  const { mppDice } = shop.world
  const terms = await askTerms(shop, buyer)
  const other = await askTerms(shop, { ...buyer, requestId: undefined })
  if (!terms || !other) return
  for (let turn = 0; turn < 3; turn++) {
    const payment = sign(shop, buyer, terms)
    const strange = sign(shop, buyer, other)
    if (!payment.credential || !strange.credential) return
    shop.world.count('tampered credentials')
    const bent = mppDice.pick(BENT)(payment, strange)
    const { network } = chainOf(shop, payment)
    const { authorization } = bent.payload
    const { challenge } = bent.credential!
    const signed = credentialOf(
      authorization,
      signAuthorization(authorization, network),
      challenge,
      bent.accepted!,
      network,
    )
    const reply = see(shop, buyer, 'tampered', await shop.ask(paidIntent(shop, buyer, signed)))
    if (typeof reply !== 'string' && (reply.kind === 'granted' || reply.kind === 'resource'))
      shop.world.violate('I3', `${buyer.name} bought with a tampered credential`)
  }
}

type Bend = (payment: WirePayment, strange: WirePayment) => WirePayment

const BENT: readonly Bend[] = [
  // The nonce of another challenge, or of none.
  (payment, strange) => authorized(payment, { nonce: strange.payload.authorization.nonce }),
  (payment) => authorized(payment, { nonce: `0x${'ab'.repeat(32)}` }),
  (payment) => authorized(payment, { value: '1' }),
  (payment) => authorized(payment, { to: SINK }),
  (payment) => authorized(payment, { validBefore: `${payment.payload.authorization.validBefore}0` }),
  (payment) => challenged(payment, { realm: 'http://another' }),
  (payment) => challenged(payment, { id: `${payment.credential!.challenge.id}x` }),
  (payment, strange) => challenged(payment, { id: strange.credential!.challenge.id }),
  (payment) => challenged(payment, { expires: new Date(4e12).toISOString() }),
  (payment) => challenged(payment, { request: { ...payment.credential!.challenge.request, amount: '1' } }),
  (payment) =>
    challenged(payment, { request: { ...payment.credential!.challenge.request, recipient: SINK } }),
]

function authorized(
  payment: WirePayment,
  change: Partial<WirePayment['payload']['authorization']>,
): WirePayment {
  const { payload } = payment
  return { ...payment, payload: { ...payload, authorization: { ...payload.authorization, ...change } } }
}

function challenged(payment: WirePayment, change: Partial<Credential['challenge']>): WirePayment {
  const { challenge, ...rest } = payment.credential!
  return { ...payment, credential: { ...rest, challenge: { ...challenge, ...change } } }
}
