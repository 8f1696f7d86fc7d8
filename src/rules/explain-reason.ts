/** Turns the stable reason codes of simulations and facilitators into text for a buyer. */
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
