import { GatewayError } from '../errors.ts'
import type { Claim } from '../facts.ts'
import { sameHex } from '../protocol/hex.ts'

/** The terms of a challenge on one rail; `payer` is the signer. */
export type AgreedTerms = Record<Claim['about'], string>

/**
 * Did the buyer sign what the challenge asks? The challenge sets the terms; a payment's claims can only agree or
 * disagree. Amounts are compared first, so that a changed value is reported as such and not as a bad signature.
 */
export function checkClaims(
  claims: readonly Claim[],
  terms: AgreedTerms,
  challengeId: string,
  /** Every network on which it can be paid. */
  networks: readonly string[] = [terms.network],
): GatewayError | undefined {
  for (const { about, field, value } of claims) {
    if (about !== 'amount' || value === terms.amount) continue
    const message = `${field} is ${value.slice(0, 80)}; the challenge asks ${terms.amount}. Read amount again and sign again.`
    return new GatewayError('AMOUNT_MISMATCH', message, { challengeId })
  }
  for (const { about, field, value } of claims) {
    if (sameHex(value, terms[about])) continue
    const expected = about === 'network' ? networks.join(' or ') : terms[about]
    const message = `${field} is ${value.slice(0, 80)}; expected ${expected}.`
    return new GatewayError('INVALID_PROOF', message, { challengeId })
  }
  return undefined
}
