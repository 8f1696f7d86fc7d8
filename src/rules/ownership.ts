import { timingSafeEqual } from 'node:crypto'
import type { AuthorizationRow } from '../facts.ts'
import type { PaymentPayload } from '../protocol/payment.ts'
import { sha256 } from './sha256.ts'

export function saltHashOf(payment: PaymentPayload): string | null {
  const salt = payment.accepted?.extra?.salt
  return salt === undefined ? null : sha256(salt)
}

/**
 * Calldata publishes authorization and signature once settled, so they prove nothing. The salt was only ever in
 * our 402 to this buyer: who has both is the buyer.
 */
export function ownsAttempt(attempt: AuthorizationRow, payment: PaymentPayload): boolean {
  const claimed = attempt.saltHash
  const shown = saltHashOf(payment)
  if (claimed === null || shown === null || !timingSafeEqual(Buffer.from(claimed), Buffer.from(shown)))
    return false
  const { authorization, signature } = payment.payload
  const { auth } = attempt
  return (
    auth.to === authorization.to &&
    auth.value === authorization.value &&
    auth.validAfter === authorization.validAfter &&
    auth.validBefore === authorization.validBefore &&
    auth.signature === signature
  )
}
