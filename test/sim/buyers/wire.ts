import type { Mpp } from '../../../src/dialects/mpp/create-mpp.ts'
import type { ChallengeJson } from '../../../src/dialects/mpp/write-challenges.ts'
import type { X402 } from '../../../src/dialects/x402/create-x402.ts'
import type { Intent, Offer, OfferedTerms, Outcome, Payment } from '../../../src/engine/outcome.ts'
import { GatewayError } from '../../../src/errors.ts'
import type {
  Accepted,
  PaymentPayload,
  PaymentRequired,
  SettleResponse,
} from '../../../src/protocol/payment.ts'
import type { SignedPermit } from '../../../src/schemes/upto/permit.ts'
import { asCoupon, COUPON_SCHEME } from '../../schemes/coupon/coupon.ts'
import type { WirePayment } from './credential.ts'

/** How buyers and gateways of a history speak. */
export interface SimDialects {
  x402: X402
  mpp: Mpp
}

/** A request as buyers of a history make it. */
export type WireIntent = Omit<Intent, 'payment'> & { payment?: WirePayment }

/** Terms in the words of both dialects. */
export type WireRequired = PaymentRequired & { challenges: ChallengeJson[] }

/** Which offer a buyer cancels. */
export interface WireTerms {
  accepted: Accepted
  call?: OfferedTerms['call']
}

type Worded<O> = Omit<O, 'offer' | 'settled'> & { receipt?: SettleResponse | undefined }

/** An outcome in the words of x402. */
export type WireOutcome =
  | { kind: 'challenge'; required: WireRequired }
  | Worded<Extract<Outcome, { kind: 'granted' }>>
  | Worded<Extract<Outcome, { kind: 'resource' }>>
  | Worded<Extract<Outcome, { kind: 'paid' }>>
  | (Worded<Extract<Outcome, { kind: 'failed' }>> & { required?: WireRequired | undefined })

/** A GatewayError: the gateway refuses it before the engine is asked. */
export function readIntent(
  { x402, mpp }: SimDialects,
  { payment, ...intent }: WireIntent,
): Intent | GatewayError {
  if (!payment) return intent
  if (payment.credential) {
    const spoken = mpp.readCredential(payment.credential)
    return spoken instanceof GatewayError ? spoken : { ...intent, payment: spoken }
  }
  return { ...intent, payment: readOnce(x402, payment) }
}

const readPayments = new WeakMap<WirePayment, Payment>()

/** A buyer sends the same payment many times, and to read it depends on nothing else. */
function readOnce(x402: X402, payment: WirePayment): Payment {
  const known = readPayments.get(payment)
  if (known) return known
  const read = x402.readPayment(wireOf(payment))
  if ('fault' in read) throw new Error(`a buyer's payment ${read.fault}`)
  readPayments.set(payment, read)
  return read
}

export const isCoupon = ({ accepted }: PaymentPayload): boolean => accepted?.scheme === COUPON_SCHEME

function wireOf(payment: WirePayment): unknown {
  if (payment.permit) return withPermit(payment, payment.permit)
  return isCoupon(payment) ? withCoupon(payment) : payment
}

function withPermit({ permit: _, ...payment }: WirePayment, signed: SignedPermit) {
  const { from, token, amount, spender, nonce, deadline, to, facilitator, validAfter, signature } = signed
  const witness = { to, facilitator, validAfter }
  const permit2Authorization = { from, permitted: { token, amount }, spender, nonce, deadline, witness }
  return { ...payment, payload: { signature, permit2Authorization } }
}

/** Buyers of a history think in authorizations; where coupons are asked for, they write one. */
function withCoupon(payment: PaymentPayload) {
  const { authorization, signature } = payment.payload
  return { ...payment, payload: { coupon: asCoupon({ ...authorization, signature }) } }
}

export function readOffered(x402: X402, { accepted, call }: WireTerms): OfferedTerms {
  const terms = x402.readTerms(accepted)
  if ('fault' in terms) throw new Error(`a buyer's terms ${terms.fault}`)
  return { ...terms, ...(call && { call }) }
}

export function writeOutcome({ x402, mpp }: SimDialects, outcome: Outcome): WireOutcome {
  const terms = (offer: Offer): WireRequired => {
    return { ...x402.paymentRequired(offer), challenges: mpp.challenges(offer) }
  }
  if (outcome.kind === 'challenge') return { kind: 'challenge', required: terms(outcome.offer) }
  const { settled, ...rest } = outcome
  const receipt = settled && x402.settleResponse(settled)
  if (rest.kind !== 'failed') return { ...rest, receipt }
  const { offer, ...failed } = rest
  return { ...failed, receipt, required: offer && terms(offer) }
}
