import type { ChargeRequest } from '../../../src/dialects/mpp/words.ts'
import type { Intent } from '../../../src/engine/outcome.ts'
import type { AccessGrant } from '../../../src/protocol/access.ts'
import type { Address } from '../../../src/protocol/hex.ts'
import type { PaymentPayload, PaymentRequirements } from '../../../src/protocol/payment.ts'
import { UPTO_PROXY_ADDRESS, UPTO_SCHEME } from '../../../src/protocol/permit2.ts'
import { COUPON_SCHEME } from '../../schemes/coupon/coupon.ts'
import type { SimChain } from '../chain/sim-chain.ts'
import { signAuthorization, signPermit } from '../keys.ts'
import type { PrepaidReply, WireCall } from '../prepaid.ts'
import { PAY_TO, type World } from '../world.ts'
import { signCredential, type WirePayment } from './credential.ts'
import type { WireIntent, WireOutcome, WireRequired, WireTerms } from './wire.ts'

/** What a buyer got: nothing, an unusable answer, or an outcome. */
export type Reply = WireOutcome | 'broken' | 'error'

export interface Shop {
  world: World
  /** In the seller's order. */
  chains: readonly SimChain[]
  /** One request to some instance; the way there and back takes time and may lose either. */
  ask(intent: WireIntent): Promise<Reply>
  /** One prepaid call to some instance, likewise. */
  spend(call: WireCall): Promise<PrepaidReply | 'broken' | 'error'>
  /** For how long nothing could be settled on this chain (ms). */
  downFor(chain: SimChain): number
  /** When each payment was sent for the first time, by whomever; by its nonce. */
  sentAt: Map<string, number>
  /** Is this a right answer to a payment that was first sent so long ago? */
  judge(payment: PaymentPayload, sentAgoMs: number, reply: Reply): Promise<void>
  cancel(challengeId: string, offered?: WireTerms): Promise<unknown>
}

/** One buyer, and everything that it saw. Invariants read this, not the state of the engine. */
export interface Buyer {
  name: string
  address: Address
  kind: string
  /** Follows the rules: resends on unknown outcomes, keeps its balance, does not touch the chain. */
  honest: boolean
  planId: string
  requestId: string | undefined
  /** Pays by MPP, wherever it is offered. */
  speaksMpp?: boolean
  /** Default: plain HTTP. */
  transport?: Intent['transport']
  /** Buys a call instead of a plan. */
  route?: Pick<Intent, 'routeId' | 'call' | 'embedded'>
  payments: Array<{ intent: WireIntent; payment: WirePayment }>
  /** Plain transfers that it showed. */
  proofs: WireIntent[]
  /** Also the answers of calls. */
  grants: Array<Pick<AccessGrant, 'challengeId' | 'accessToken'>>
  /** Codes of the failures that it got. */
  refusals: string[]
  /** Every answer that reached it. */
  heard: WireOutcome[]
  done: boolean
}

export type Signing = { value?: string; to?: Address; validSeconds?: number; validAfter?: string }

export function sign(shop: Shop, buyer: Buyer, required: WireRequired, how: Signing = {}): WirePayment {
  const { dice, extraDice } = shop.world
  const { accepts } = required
  const accepted = accepts.length > 1 ? extraDice.pick(accepts) : accepts[0]
  if (!accepted) throw new Error('a 402 without requirements')
  if (accepted !== accepts[0]) shop.world.count('signed for another chain')
  const challenge = buyer.speaksMpp && challengeOn(shop, required, accepted)
  if (challenge) {
    shop.world.count('signed by MPP')
    return signCredential(buyer.address, challenge, accepted, chainOf(shop, { accepted }).network)
  }
  if (accepted.scheme === UPTO_SCHEME) return signMaximum(shop, buyer, accepted, how)
  const validSeconds = how.validSeconds ?? dice.pick([15, 30, 60, 60, 300, 900])
  const authorization = {
    from: buyer.address,
    to: how.to ?? PAY_TO,
    value: how.value ?? accepted.amount,
    validAfter: how.validAfter ?? '0',
    validBefore: String(chainNow(shop) + validSeconds),
    nonce: dice.hex(32),
  }
  shop.world.count('signed')
  if (accepted.scheme === COUPON_SCHEME) shop.world.count('coupons signed')
  const payment: PaymentPayload = {
    x402Version: 2,
    payload: { signature: '0x', authorization },
    accepted: { ...accepted, extra: { ...accepted.extra } },
  }
  payment.payload.signature = signAuthorization(authorization, chainOf(shop, payment).network)
  return payment
}

/** Signs the most that a metered call may cost. */
function signMaximum(
  shop: Shop,
  buyer: Buyer,
  accepted: PaymentRequirements,
  { to = PAY_TO, value = accepted.amount, validSeconds, validAfter = '0' }: Signing,
): WirePayment {
  const { meterDice } = shop.world
  const { network } = chainOf(shop, { accepted })
  const seconds = validSeconds ?? meterDice.pick([60, 120, 300, 300, 900])
  const validBefore = String(chainNow(shop) + seconds)
  const authorization = { from: buyer.address, to, value, validAfter, validBefore, nonce: meterDice.hex(32) }
  const unsigned = {
    ...{ from: buyer.address, token: network.token.address, amount: value, to, validAfter },
    spender: UPTO_PROXY_ADDRESS,
    nonce: BigInt(authorization.nonce).toString(),
    deadline: validBefore,
    facilitator: accepted.extra.facilitatorAddress as Address,
  }
  const signature = signPermit(unsigned, network)
  shop.world.count('maxima signed')
  return {
    x402Version: 2,
    payload: { signature, authorization },
    accepted: { ...accepted, extra: { ...accepted.extra } },
    permit: { ...unsigned, signature },
  }
}

/** The challenge for the same rail as this entry of a 402; undefined: its scheme is not one of MPP's. */
function challengeOn(shop: Shop, { challenges }: WireRequired, accepted: PaymentRequirements) {
  if (accepted.scheme === COUPON_SCHEME || accepted.scheme === UPTO_SCHEME) return undefined
  const { chainId } = chainOf(shop, { accepted }).network
  return challenges.find(({ request }) => (request as ChargeRequest).methodDetails.chainId === chainId)
}

/** Seconds; all chains of a history keep the same time. */
export const chainNow = ({ chains }: Shop): number => chains[0]!.seconds()

/** The chain that a payment is for. */
export function chainOf({ chains }: Shop, { accepted }: Pick<PaymentPayload, 'accepted'>): SimChain {
  return chains.find(({ network }) => network.id === accepted?.network) ?? chains[0]!
}

export function termsIntent({ planId, requestId, route, transport = 'http' }: Buyer): WireIntent {
  return { transport, ...(route ?? { planId }), ...(requestId !== undefined && { requestId }) }
}

/** The body of a paid request may repeat the ids or leave all to the echo. */
export function paidIntent(shop: Shop, buyer: Buyer, payment: WirePayment): WireIntent {
  const { dice } = shop.world
  const body = dice.chance(0.5) ? termsIntent(buyer) : { transport: 'http' as const, ...buyer.route }
  // MCP names a request after its payment, where the buyer has not named it.
  const byMcp = buyer.requestId === undefined && buyer.route === undefined && dice.chance(0.3)
  if (!byMcp) return { ...body, payment }
  shop.world.count('named at the claim')
  return {
    ...body,
    transport: 'mcp',
    payment,
    claimRequestId: `mcp-${payment.payload.signature.slice(2, 34)}`,
  }
}

export function isUnknown(reply: Reply): boolean {
  if (reply === 'broken' || reply === 'error') return true
  if (reply.kind !== 'failed') return false
  return ['SETTLEMENT_PENDING', 'INTERNAL_ERROR', 'RATE_LIMITED'].includes(reply.error.code)
}

/** Notes what the buyer saw. */
export function see(shop: Shop, buyer: Buyer, what: string, reply: Reply): Reply {
  const { world } = shop
  const text = typeof reply === 'string' ? reply : reply.kind === 'failed' ? reply.error.code : reply.kind
  world.note(
    buyer.name,
    () =>
      `${what} <- ${text}${typeof reply !== 'string' && reply.kind === 'failed' ? ` (${reply.error.message})` : ''}`,
  )
  world.count(`reply ${text}`)
  if (typeof reply === 'string') return reply
  buyer.heard.push(reply)
  if (reply.kind === 'granted') {
    if (reply.cached) world.count('cached grants')
    buyer.grants.push(reply.grant)
  }
  if (reply.kind === 'resource' && reply.response.resource.status === 200) {
    const { challengeId } = reply.response
    buyer.grants.push({ challengeId, accessToken: `data of ${challengeId}` })
  }
  if (reply.kind === 'failed') buyer.refusals.push(reply.error.code)
  return reply
}

/** Asks for terms until it gets some, or a refusal that will not change. */
export async function askTerms(shop: Shop, buyer: Buyer, tries = 12): Promise<WireRequired | undefined> {
  const { dice, scheduler } = shop.world
  for (let turn = 0; turn < tries; turn++) {
    const reply = see(shop, buyer, 'terms', await shop.ask(termsIntent(buyer)))
    if (typeof reply !== 'string' && reply.kind === 'challenge') return reply.required
    if (!isUnknown(reply)) return undefined
    await scheduler.sleep(dice.skewed(500, 20_000))
  }
  return undefined
}

/** Sends one payload again and again until its outcome is known. */
export async function payUntilKnown(
  shop: Shop,
  buyer: Buyer,
  payment: WirePayment,
  patience = 25,
): Promise<Reply> {
  const { dice, scheduler } = shop.world
  const intent = paidIntent(shop, buyer, payment)
  buyer.payments.push({ intent, payment })
  const { nonce } = payment.payload.authorization
  const what = `pay ${nonce.slice(2, 8)}`
  const sentAt = shop.sentAt.get(nonce) ?? scheduler.now()
  shop.sentAt.set(nonce, sentAt)
  for (let turn = 0; ; turn++) {
    const reply = see(shop, buyer, what, await shop.ask(intent))
    await shop.judge(payment, scheduler.now() - sentAt, reply)
    if (!isUnknown(reply) || turn >= patience) return reply
    await scheduler.sleep(dice.skewed(500, 30_000))
  }
}
