/** Errors for requests that get no result: each says what happened and what to do next. */
import { GatewayError } from '../errors.ts'
import type { AuthorizationRow, ChallengeRow, CreditRow } from '../ports.ts'
import { PERMIT2_ADDRESS } from '../protocol/permit2.ts'
import { explainReason } from '../rules/explain-reason.ts'
import { networkOfRail } from '../rules/rail-id.ts'

export function otherPurchase(challenge: ChallengeRow): GatewayError {
  return new GatewayError(
    'INVALID_REQUEST',
    `requestId ${challenge.requestId} belongs to another purchase (${challenge.kind} ${challenge.itemId}). ` +
      'Use a new requestId, or repeat the request exactly.',
  )
}

/** Terms would make the sender of a transfer pay again. */
export function otherThanProven({ key, kind, itemId }: ChallengeRow): GatewayError {
  const message =
    `The request beside the proof is not that of challenge ${key} (${kind} ${itemId}). Repeat it as it was when the challenge ` +
    'was opened: routeId, resourceId and resource {method, path, body}.'
  return new GatewayError('INVALID_REQUEST', message, { challengeId: key })
}

/** No such challenge is stored, and its id does not prove that it was offered for this request at this price. */
export function challengeNotFound(challengeId: string): GatewayError {
  return new GatewayError(
    'CHALLENGE_NOT_FOUND',
    `challengeId ${challengeId.slice(0, 80)} was not issued by this gateway for this request. Repeat the request as it was when ` +
      'the 402 came (method, path, query, body, planId or routeId, resourceId, requestId), with `accepted` unchanged; if the ' +
      "seller's terms have changed since, ask for a new challenge. Nothing was charged now; if you have paid for it before, ask " +
      'the seller first, and name the transaction.',
  )
}

/** Without a challenge: the sender may be a stranger, and learns nothing about it. */
export function settlementPending(challenge?: Pick<ChallengeRow, 'key'>): GatewayError {
  return new GatewayError(
    'SETTLEMENT_PENDING',
    'The payment was received and its outcome is not known yet. Send the same payload again; do not sign a new one.',
    { ...(challenge && { challengeId: challenge.key }), retryAfterSeconds: 5 },
  )
}

/** Its payment is confirmed, and it waits for room among the calls of its payer. */
export function callLater({ key: challengeId }: Pick<ChallengeRow, 'key'>): GatewayError {
  return new GatewayError(
    'SETTLEMENT_PENDING',
    'The payment is confirmed, and so many calls of its payer are in flight that this one is not made yet. Send the same again; do not pay again.',
    { challengeId, retryAfterSeconds: 5 },
  )
}

export function refunded(challenge: ChallengeRow): GatewayError {
  const txHash = challenge.refundTxHash ?? undefined
  return new GatewayError(
    'CHALLENGE_REFUNDED',
    `Delivery failed after the payment; the refund is ${challenge.state}. Ask for a new challenge to buy again.`,
    { challengeId: challenge.key, refund: { state: challenge.state, ...(txHash && { txHash }) } },
  )
}

export function otherPayer(challenge: ChallengeRow): GatewayError {
  return new GatewayError(
    'INVALID_PROOF',
    'This challenge is paid by another payer, and its result is theirs. Ask for a challenge of your own.',
    { challengeId: challenge.key },
  )
}

/** Does the buyer of such a challenge get something for it, now or soon? */
export const hasResult = (state: ChallengeRow['state']): boolean => state === 'PAID' || state === 'DELIVERED'

/** The request does not prove to come from the buyer. Without a key its sender is told nothing about the challenge. */
export function alreadyRedeemed({
  key,
  state,
}: {
  key: string | undefined
  state: ChallengeRow['state']
}): GatewayError {
  const where = key === undefined ? 'the same challenge' : `challenge ${key}, as accepted.extra.challengeId`
  // For a challenge that nobody has paid yet, a new authorization is charged; for one that ended it is refused.
  const orAnew = !hasResult(state) ? '' : `, or sign a new authorization for ${where}: it is not charged`
  return redeemed(
    key,
    'This authorization was used already and the request does not prove to be its buyer. To fetch a result again, ' +
      `resend the original payload unchanged, with its \`accepted\`${orAnew}.`,
  )
}

/** It was paid without the salt of a 402, so that its payload proves nobody to be the buyer. */
export function paidWithoutSalt({ key }: Pick<ChallengeRow, 'key'>): GatewayError {
  return redeemed(
    key,
    'This authorization was used already, and it came without the accepted.extra.salt of a 402, which alone would tell its ' +
      'buyer from whoever copied it from the chain. To fetch the result, sign a new authorization with ' +
      `accepted.extra.challengeId ${key}: it is not charged.`,
  )
}

/** Without a key the sender is told nothing about the challenge. */
export function paidAnother(key: string | undefined): GatewayError {
  const which = key === undefined ? '' : ` (challenge ${key})`
  return redeemed(
    key,
    `This payment belongs to another request${which}, and nothing was charged now. For its result repeat that request exactly, ` +
      'with the same payload: method, path, query, body, planId or routeId, resourceId and requestId.',
  )
}

function redeemed(key: string | undefined, message: string): GatewayError {
  return new GatewayError('TX_ALREADY_REDEEMED', message, key === undefined ? {} : { challengeId: key })
}

/** It paid another challenge, or was used before it reached us, or the sale is lost with a part of the store. */
export function usedWithoutSale({ key }: Pick<ChallengeRow, 'key'>): GatewayError {
  return new GatewayError(
    'TX_ALREADY_REDEEMED',
    `This payment was used already, and this gateway has no sale of challenge ${key} for it. A new authorization is a ` +
      'new payment and is charged. If you got nothing for this one, ask the seller first, and name its transaction.',
    { challengeId: key },
  )
}

export function resultPruned(challenge: Pick<ChallengeRow, 'key'>): GatewayError {
  return new GatewayError(
    'TX_ALREADY_REDEEMED',
    'This purchase was delivered, and its result is no longer kept: the time for which the seller keeps results is over. ' +
      'Nothing was charged now. To buy it again, ask for a new challenge.',
    { challengeId: challenge.key },
  )
}

/** An embedded handler gave it, and it is stored only if it was metered. */
export function answerNotKept(challenge: Pick<ChallengeRow, 'key'>): GatewayError {
  return new GatewayError(
    'TX_ALREADY_REDEEMED',
    'This call was paid and answered, and its answer is not kept. Nothing was charged now. To call again, ask for a new challenge.',
    { challengeId: challenge.key },
  )
}

export function cannotSettle(why: string, challengeId: string): GatewayError {
  return new GatewayError(
    'SETTLEMENT_PENDING',
    `The gateway cannot settle payments now: ${why}. Nothing was charged.`,
    { challengeId, retryAfterSeconds: 30 },
  )
}

/** The seller's wallet would pay more for the gas than it is paid. */
export function gasTooDear(challenge: ChallengeRow, network: string): GatewayError {
  const message = `The gas of a payment on ${network} costs too much for this price now. Nothing was charged. Pay one of the offers.`
  return new GatewayError('PAYMENT_FAILED', message, { challengeId: challenge.key })
}

export function deliveryFailed(challenge: ChallengeRow): GatewayError {
  return new GatewayError(
    'DELIVERY_FAILED',
    `The payment is confirmed but delivery failed: ${challenge.failure ?? 'unknown'}. The payment goes back to ${challenge.payer}.`,
    {
      challengeId: challenge.key,
      ...(challenge.txHash !== null && { txHash: challenge.txHash }),
      refund: { state: challenge.state },
    },
  )
}

/** Each try leaves a row for a while. After so many the buyer must ask for another challenge. */
export const MAX_TRIES = 20

type ClosedChallenge = Pick<ChallengeRow, 'key' | 'state' | 'expiresAt' | 'claimed' | 'tries'>

export function challengeClosed(challenge: ClosedChallenge): GatewayError {
  return closed(challenge, `Challenge ${challenge.key} ${howClosed(challenge)}; nothing was charged`)
}

function howClosed({ state, expiresAt, tries = 0 }: ClosedChallenge): string {
  if (state === 'CANCELLED') return 'was cancelled'
  if (tries >= MAX_TRIES) return `takes no more payments, because ${tries} of them came to nothing`
  return `expired at ${new Date(expiresAt).toISOString()}`
}

/** Its route was sold by maximum when the challenge was opened, and has another price now. */
export function noLongerMetered(challenge: Pick<ChallengeRow, 'key' | 'claimed' | 'itemId'>): GatewayError {
  const { key, itemId } = challenge
  const why = `Route ${itemId} is no longer metered, so challenge ${key} is closed`
  return closed(challenge, `${why}; nothing was called or charged`)
}

/** A restored or failed-over store may have lost the sale of a challenge for which it knows no payment. */
function closed({ key, claimed }: Pick<ChallengeRow, 'key' | 'claimed'>, message: string): GatewayError {
  const next = claimed
    ? '. Ask for a new challenge.'
    : ' now. This gateway has no record of an earlier payment for it: if you have paid, do not pay again; ask the seller, ' +
      'and name the transaction. Otherwise ask for a new challenge.'
  return new GatewayError('CHALLENGE_EXPIRED', `${message}${next}`, { challengeId: key })
}

export function paymentFailed(challenge: Pick<ChallengeRow, 'key'>, reason: string): GatewayError {
  const message = `The payment was not settled: ${reason}. No money moved.`
  return new GatewayError('PAYMENT_FAILED', message, { challengeId: challenge.key })
}

/**
 * Why a payment that was sent has ended. Without a transaction of our own, words that are none of ours are those of the
 * facilitator, and no more certain than its word.
 */
export function sentPaymentFailed(
  challenge: Pick<ChallengeRow, 'key'>,
  { reason, walletTx }: Pick<AuthorizationRow, 'reason' | 'walletTx'>,
): GatewayError {
  const code = reason ?? 'reverted'
  const words = explainReason(code)
  if (walletTx !== null || words !== code) return paymentFailed(challenge, words)
  const message =
    `The facilitator refused the payment: ${words}. By its word no money moved; should the payment arrive all the same, ` +
    'it pays this challenge or goes back. Sign anew for this challenge.'
  return new GatewayError('PAYMENT_FAILED', message, { challengeId: challenge.key })
}

/** How payment-response and the repeated offer name a missing allowance. */
export const ALLOWANCE_REQUIRED = 'permit2_allowance_required'

export function allowanceRequired(
  challenge: Pick<ChallengeRow, 'key'>,
  token: string,
  amount: string,
): GatewayError {
  const message = `The payer has not let Permit2 move ${amount} units of the token ${token}: call approve(${PERMIT2_ADDRESS}, ${amount} or more) on it once, then send the same payment again. Nothing was charged.`
  return new GatewayError('PERMIT2_ALLOWANCE_REQUIRED', message, { challengeId: challenge.key })
}

export function unpaidCall(challenge: Pick<ChallengeRow, 'key'>, reason: string): GatewayError {
  return new GatewayError(
    'SETTLEMENT_PENDING',
    `The call was answered, and its charge cannot be settled yet, so the answer is kept back: ${reason} Send the same payload again; do not sign a new one.`,
    { challengeId: challenge.key, retryAfterSeconds: 5 },
  )
}

/** A refund there would wait for ever, and keep the gateway from starting without the network. */
export function networkMissing(
  challengeId: string,
  { what, rails, next }: { what: string; rails: readonly string[]; next: string },
): GatewayError {
  const networks = [...new Set(rails.map(networkOfRail))].join(', ')
  const message = `${what} of challenge ${challengeId} is on ${networks}, which is not configured; start with that network, then ${next}.`
  return new GatewayError('INVALID_REQUEST', message, { challengeId })
}

/** Undefined: it has not ended. */
export function endedPurchase({ ended }: Pick<CreditRow, 'ended'>): GatewayError | undefined {
  if (!ended) return undefined
  const what =
    ended === 'lost'
      ? 'payment was taken back by the chain'
      : 'credits were closed and the unspent ones refunded'
  return new GatewayError('UNAUTHORIZED', `The token's purchase has ended: its ${what}. Buy it anew.`)
}

/** A metered call: its payment was not sent, and stays good for another call. */
export function callFailed(challenge: Pick<ChallengeRow, 'key'>, reason: string): GatewayError {
  const message = `The call failed: ${reason}. Nothing was charged.`
  return new GatewayError('CALL_FAILED', message, { challengeId: challenge.key, retryAfterSeconds: 30 })
}

/** A transfer that the buyer made without us arrived second: it is refunded. */
export function transferGoesBack(challenge: Pick<ChallengeRow, 'key'>): GatewayError {
  return new GatewayError(
    'INVALID_PROOF',
    'This challenge is paid by another payer, and its result is theirs. Your transfer goes back to its sender. ' +
      'To buy, ask for a challenge of your own.',
    { challengeId: challenge.key },
  )
}
