import { timingSafeEqual } from 'node:crypto'
import { sha256 } from './sha256.ts'

export function saltHashOf(salt: string | null): string | null {
  return salt === null ? null : sha256(salt)
}

/**
 * Once settled, a payment and its signature are public in the calldata, so they do not prove who the buyer is. The
 * salt was only in our offer to this buyer: a request with the same payment and this salt comes from the buyer.
 */
export function showsSalt(claimed: string | null, salt: string | null): boolean {
  const shown = saltHashOf(salt)
  return claimed !== null && shown !== null && timingSafeEqual(Buffer.from(claimed), Buffer.from(shown))
}
