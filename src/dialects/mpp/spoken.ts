import { hasPaymentScheme } from '../../protocol/payment-scheme.ts'
import { acceptsCharge } from './accept-payment.ts'

/** What the headers of a request say about how its sender speaks of payments. */
export interface Spoken {
  /** It brings an MPP credential: its answer has a `Payment-Receipt`, or problem details (RFC 9457). */
  paysByMpp: boolean
  /** MPP challenges may be offered to it. */
  offersMpp: boolean
  /** Its `Authorization` is a token of the seller's, so that a credential must come in another header. */
  hasBearer: boolean
}

/** A request that says nothing about MPP. */
export const UNSPOKEN: Spoken = { paysByMpp: false, offersMpp: true, hasBearer: false }

/** Is this `Authorization` an MPP credential? */
export const isCredential = (authorization: string | null): authorization is string =>
  authorization !== null && hasPaymentScheme(authorization)

/** The credentials that a request brings in its two headers; more than one is one too many. */
export function credentialsIn(authorization: string | null, paymentAuthorization: string | null): string[] {
  const own = isCredential(authorization) ? authorization : null
  return [own, paymentAuthorization].filter((value) => value !== null)
}

export function spokenBy(
  authorization: string | null,
  paymentAuthorization: string | null,
  acceptPayment: string | null,
): Spoken {
  if (authorization === null && paymentAuthorization === null && acceptPayment === null) return UNSPOKEN
  return {
    paysByMpp: isCredential(authorization) || paymentAuthorization !== null,
    offersMpp: acceptsCharge(acceptPayment),
    hasBearer: authorization !== null && !isCredential(authorization),
  }
}
