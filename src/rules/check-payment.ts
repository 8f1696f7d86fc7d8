import { GatewayError } from '../errors.ts'
import type { ChallengeRow } from '../facts.ts'
import { sameHex } from '../protocol/hex.ts'
import { type Authorization, type PaymentPayload, SCHEME } from '../protocol/payment.ts'

type Terms = Pick<ChallengeRow, 'amount' | 'asset' | 'payTo' | 'network' | 'key'>

/**
 * Did the buyer sign what the challenge asks? The challenge sets the terms; `accepted` can only disagree.
 * The amount is compared first, so that a tampered value is reported as such and not as a bad signature.
 */
export function checkAgreement(payment: PaymentPayload, terms: Terms): GatewayError | undefined {
  const { authorization, from } = payment.payload
  const { accepted } = payment
  const details = { challengeId: terms.key }
  const amount = (field: string, value: string) =>
    new GatewayError(
      'AMOUNT_MISMATCH',
      `${field} is ${value}; the challenge asks ${terms.amount}. Read amount again and sign again.`,
      details,
    )
  if (authorization.value !== terms.amount) return amount('authorization.value', authorization.value)
  if (accepted?.amount !== undefined && accepted.amount !== terms.amount) {
    return amount('accepted.amount', accepted.amount.slice(0, 80))
  }
  const expected: Array<[string, string | undefined, string]> = [
    ['authorization.to', authorization.to, terms.payTo],
    ['accepted.payTo', accepted?.payTo, terms.payTo],
    ['accepted.network', accepted?.network, terms.network],
    ['network', payment.network, terms.network],
    ['accepted.asset', accepted?.asset, terms.asset],
    ['accepted.scheme', accepted?.scheme, SCHEME],
    ['scheme', payment.scheme, SCHEME],
    ['payload.from', from, authorization.from],
  ]
  for (const [field, value, wanted] of expected) {
    if (value !== undefined && !sameHex(value, wanted)) {
      return new GatewayError(
        'INVALID_PROOF',
        `${field} is ${value.slice(0, 80)}; expected ${wanted}.`,
        details,
      )
    }
  }
  return undefined
}

export const MIN_VALIDITY_SECONDS = 10
export const MAX_VALIDITY_SECONDS = 3600

/** Is the validity window usable at this chain time? The reason when it is not. */
export function validityFault(auth: Authorization, chainTime: number): string | undefined {
  const now = BigInt(chainTime)
  const validBefore = BigInt(auth.validBefore)
  if (BigInt(auth.validAfter) >= now) {
    return `validAfter ${auth.validAfter} is not past yet at chain time ${chainTime}; sign with validAfter 0`
  }
  if (validBefore < now + BigInt(MIN_VALIDITY_SECONDS)) {
    return `validBefore ${auth.validBefore} is less than ${MIN_VALIDITY_SECONDS} s ahead of chain time ${chainTime}`
  }
  if (validBefore > now + BigInt(MAX_VALIDITY_SECONDS)) {
    return `validBefore ${auth.validBefore} is more than ${MAX_VALIDITY_SECONDS} s ahead of chain time ${chainTime}`
  }
  return undefined
}

/** Words for the stable reasons of simulation and facilitators, as a buyer should read them. */
export function explainReason(reason: string): string {
  switch (reason) {
    case 'insufficient_funds':
      return 'the payer does not hold enough USDC'
    case 'authorization_expired':
      return 'validBefore has passed'
    case 'authorization_not_yet_valid':
      return 'validAfter has not come yet'
    case 'invalid_signature':
      return 'the token refuses the signature'
    case 'canceled':
      return 'the payer cancelled the authorization'
    case 'spent_elsewhere':
      return 'the nonce was spent on another transfer'
    case 'reverted':
      return 'the transfer was reverted on chain'
    default:
      return reason
  }
}
