import { timingSafeEqual } from 'node:crypto'
import type { ChallengeRow } from '../facts.ts'
import type { Address } from '../protocol/hex.ts'
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

/** Who proves to be a payer, and how. */
export interface ProvenPayer {
  payer: Address
  /** Where it is proven. */
  network: string
  /** The payer's own key signed. Absent or false: code agreed to it. */
  byKey?: boolean | undefined
}

/**
 * Does what was paid for belong to this payer? A key is the same everywhere; code at the same address of another network
 * may have another owner.
 */
export function isPaidBy(
  challenge: Pick<ChallengeRow, 'payer' | 'network' | 'paidByKey'>,
  { payer, network, byKey }: ProvenPayer,
): boolean {
  if (challenge.payer !== payer) return false
  return challenge.network === network || (challenge.paidByKey === true && byKey === true)
}
