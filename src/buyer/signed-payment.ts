import { ExactPayloadSchema } from '../protocol/authorization.ts'
import { decodeJsonObject } from '../protocol/base64.ts'
import type { Hex } from '../protocol/hex.ts'
import { PaymentEnvelopeSchema } from '../protocol/payment.ts'
import { UptoPayloadSchema } from '../protocol/permit2.ts'
import type { StoredPayment } from './payment-storage.ts'

/** What was signed in a stored payment. */
export type SignedPayment =
  | { scheme: 'exact'; from: Hex; asset: string | undefined; nonce: Hex }
  | { scheme: 'upto'; from: Hex; asset: Hex; nonce: bigint; maxUnits: bigint; deadline: string }

export type SignedPermit = Extract<SignedPayment, { scheme: 'upto' }>

/** Reads a payment that this buyer signed. Throws if it is none. */
export function signedPayment({ header }: StoredPayment): SignedPayment {
  const { payload, accepted } = PaymentEnvelopeSchema.parse(decodeJsonObject(header))
  if (!('permit2Authorization' in payload)) {
    const { from, nonce } = ExactPayloadSchema.parse(payload).authorization
    return { scheme: 'exact', from, nonce, asset: accepted?.asset }
  }
  const { from, permitted, nonce, deadline } = UptoPayloadSchema.parse(payload).permit2Authorization
  const { token: asset, amount } = permitted
  return { scheme: 'upto', from, asset, nonce: BigInt(nonce), maxUnits: BigInt(amount), deadline }
}

/** The maximum that was signed for a metered call; undefined for a payment of a fixed price. */
export function signedPermit(payment: StoredPayment): SignedPermit | undefined {
  const signed = signedPayment(payment)
  return signed.scheme === 'upto' ? signed : undefined
}
