import type { X402 } from '../../../src/dialects/x402/create-x402.ts'
import type { Intent, OfferedTerms, Outcome } from '../../../src/engine/outcome.ts'
import type {
  Accepted,
  PaymentPayload,
  PaymentRequired,
  SettleResponse,
} from '../../../src/protocol/payment.ts'

import { asCoupon, COUPON_SCHEME } from '../../schemes/coupon/coupon.ts'

/** A request in the words of x402, as buyers of a history make it. */
export type WireIntent = Omit<Intent, 'payment'> & { payment?: PaymentPayload }

/** Which offer a buyer cancels. */
export interface WireTerms {
  accepted: Accepted
  call?: OfferedTerms['call']
}

type Worded<O> = Omit<O, 'offer' | 'settled'> & { receipt?: SettleResponse | undefined }

/** An outcome in the words of x402. */
export type WireOutcome =
  | { kind: 'challenge'; required: PaymentRequired }
  | Worded<Extract<Outcome, { kind: 'granted' }>>
  | Worded<Extract<Outcome, { kind: 'resource' }>>
  | Worded<Extract<Outcome, { kind: 'paid' }>>
  | (Worded<Extract<Outcome, { kind: 'failed' }>> & { required?: PaymentRequired | undefined })

export function readIntent(x402: X402, { payment, ...intent }: WireIntent): Intent {
  if (!payment) return intent
  const read = x402.readPayment(isCoupon(payment) ? withCoupon(payment) : payment)
  if ('fault' in read) throw new Error(`a buyer's payment ${read.fault}`)
  return { ...intent, payment: read }
}

export const isCoupon = ({ accepted }: PaymentPayload): boolean => accepted?.scheme === COUPON_SCHEME

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

export function writeOutcome(x402: X402, outcome: Outcome): WireOutcome {
  if (outcome.kind === 'challenge') {
    return { kind: 'challenge', required: x402.paymentRequired(outcome.offer) }
  }
  const { settled, ...rest } = outcome
  const receipt = settled && x402.settleResponse(settled)
  if (rest.kind !== 'failed') return { ...rest, receipt }
  const { offer, ...failed } = rest
  return { ...failed, receipt, required: offer && x402.paymentRequired(offer) }
}
