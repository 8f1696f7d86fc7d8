import { z } from 'zod'
import { decodeJsonObject } from '../protocol/base64.ts'
import { AddressSchema, Bytes32Schema, type Hex } from '../protocol/hex.ts'
import { Permit2AuthorizationSchema } from '../protocol/permit2.ts'
import type { StoredPayment } from './payment-storage.ts'

/** What was signed in a stored payment. */
export type SignedPayment =
  | { scheme: 'exact'; from: Hex; asset: string | undefined; nonce: Hex }
  | { scheme: 'upto'; from: Hex; asset: Hex; nonce: bigint; maxUnits: bigint; deadline: string }

export type SignedPermit = Extract<SignedPayment, { scheme: 'upto' }>

/**
 * What the buyer itself wrote into the header. The rest repeats the seller's offer, in whose `extra` may be anything: only
 * our gateway gives its fields a form.
 */
const HeaderSchema = z.object({
  payload: z.union([
    z.object({ permit2Authorization: Permit2AuthorizationSchema }),
    z.object({ authorization: z.object({ from: AddressSchema, nonce: Bytes32Schema }) }),
  ]),
  accepted: z.object({ asset: z.string().optional() }).optional(),
})

/** Reads a payment that this buyer signed. Throws if it is none. */
export function signedPayment({ header }: StoredPayment): SignedPayment {
  const { payload, accepted } = HeaderSchema.parse(decodeJsonObject(header))
  if (!('permit2Authorization' in payload)) {
    const { from, nonce } = payload.authorization
    return { scheme: 'exact', from, nonce, asset: accepted?.asset }
  }
  const { from, permitted, nonce, deadline } = payload.permit2Authorization
  const { token: asset, amount } = permitted
  return { scheme: 'upto', from, asset, nonce: BigInt(nonce), maxUnits: BigInt(amount), deadline }
}

/** The maximum that was signed for a metered call; undefined for a payment of a fixed price. */
export function signedPermit(payment: StoredPayment): SignedPermit | undefined {
  const signed = signedPayment(payment)
  return signed.scheme === 'upto' ? signed : undefined
}
