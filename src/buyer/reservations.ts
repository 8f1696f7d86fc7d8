import type { Hex } from '../protocol/hex.ts'
import type { StoredPayment } from './payment-storage.ts'
import { signedPayment } from './signed-payment.ts'

/** Begins the names of reservations for metered payments: they may shrink, and so must be found again. */
export const METERED_PREFIX = 'permit2/'

/** A metered payment, as the name of its reservation tells it. */
export interface MeteredReservation {
  network: string
  from: Hex
  nonce: bigint
  /** Unix seconds, as text. */
  validBefore: string
}

const METERED = /^permit2\/(eip155:\d+)\/(0x[0-9a-f]{40})\/(0x[0-9a-f]{64})\/(\d+)$/

/** The name of the reservation of a metered payment: all that is needed to ask the chain about it after a crash. */
export function meteredReservation({ network, from, nonce, validBefore }: MeteredReservation): string {
  const word = nonce.toString(16).padStart(64, '0')
  return `${METERED_PREFIX}${network}/${from.toLowerCase()}/0x${word}/${validBefore}`
}

export function readReservation(id: string): MeteredReservation | undefined {
  const [, network, from, nonce, validBefore] = METERED.exec(id) ?? []
  if (network === undefined) return undefined
  return { network, from: from as Hex, nonce: BigInt(nonce!), validBefore: validBefore! }
}

/** The name under which the amount of a payment was reserved. */
export function reservationOf(payment: StoredPayment): string {
  const signed = signedPayment(payment)
  if (signed.scheme === 'exact') return signed.nonce
  const { from, nonce, deadline } = signed
  return meteredReservation({ network: payment.network, from, nonce, validBefore: deadline })
}
