import type { Dossier } from '../../engine/outcome.ts'
import { challengeClosed, noLongerMetered, sentPaymentFailed } from '../../engine/refusals.ts'
import { GatewayError } from '../../errors.ts'
import type { ChallengeStatus } from '../../protocol/access.ts'
import { ERROR_CODES } from '../../protocol/error-codes.ts'
import type { SettleResponse } from '../../protocol/payment.ts'
import { receiptExtension } from '../../protocol/receipts.ts'
import { isMetered } from '../../protocol/schemes-sold.ts'
import { networkOfRail } from '../../rules/rail-id.ts'
import { howToPay, priceText, type Sale, x402Challenge } from './challenge-terms.ts'
import { hasBody } from './has-body.ts'
import type { TaskView } from './task-view.ts'
import { settlementError } from './x402-error.ts'

/**
 * The task that a stored challenge is. Whoever knows the id may read it, and the id proves nothing: so it never holds
 * what was bought.
 *
 * @param settling a payment for it is under way on this instance, perhaps not stored yet
 */
export function projectTask(dossier: Dossier, sale: Sale, settling = false): TaskView {
  const { challenge } = dossier
  const shared = {
    id: challenge.key,
    requestId: challenge.requestId,
    receipts: receiptsOf(dossier),
    at: dossier.audit.at(-1)?.at,
  }
  switch (challenge.state) {
    case 'PENDING':
      if (challenge.liveAuth !== null || settling) {
        const text = 'The payment was received and is being settled. Do not sign a new one; look again.'
        return { ...shared, state: 'working', payment: 'payment-submitted', text }
      }
      return { ...shared, ...unpaid(dossier, sale) }
    case 'PAID':
      return { ...shared, state: 'working', payment: 'payment-verified', text: undelivered(dossier) }
    case 'DELIVERED': {
      const text = `Paid and delivered. ${howToFetch(challenge)}`
      return { ...shared, state: 'completed', payment: 'payment-completed', text }
    }
    case 'CANCELLED': {
      const text = challengeClosed(challenge).message
      return { ...shared, state: 'canceled', payment: 'payment-rejected', text }
    }
    case 'EXPIRED':
      return { ...shared, ...failed(challengeClosed(challenge)) }
    case 'REFUND_PENDING':
    case 'REFUNDED':
    case 'REFUND_FAILED': {
      const { state, refundTxHash } = challenge
      const text = `The payment did not lead to a delivery; its refund is ${state}. Ask again to buy.`
      const refund = { state, ...(refundTxHash !== null && { txHash: refundTxHash }) }
      return { ...shared, ...failed(new GatewayError('CHALLENGE_REFUNDED', text, { refund })) }
    }
    default:
      // A state that a newer version stored.
      return { ...shared, state: 'working', payment: 'payment-submitted', text: 'In progress; look again.' }
  }
}

/** A payment is on its way and nothing is known of it yet. */
export function submitted({ challengeId, requestId }: ChallengeStatus): TaskView {
  const text =
    'The payment was received and is being settled. Follow the task; once it is completed, send the same payload again to fetch what was bought.'
  return { id: challengeId, requestId, state: 'working', payment: 'payment-submitted', text }
}

/** A metered call failed. Its payment stays good, so that a second one could be charged beside it. */
export function afterFailedCall(said: string, challenge: Dossier['challenge'] | undefined) {
  return {
    state: 'working' as const,
    payment: 'payment-submitted' as const,
    error: ERROR_CODES.CALL_FAILED.a2a.code,
    text: `${said} Send the same payload again${challenge ? withCall(challenge) : ''} to call again; do not sign a new one.`,
  }
}

function howToFetch(challenge: Dossier['challenge']): string {
  return `Send the payload that paid it once more, unchanged${withCall(challenge)}, and the answer carries what was bought; nothing is charged.`
}

/** Beside the payload; the body of a call is not stored. */
function withCall(challenge: Dossier['challenge']): string {
  return hasBody(challenge) ? ' (with the AccessRequest that names the call and its body)' : ''
}

/** Every payment that was tried and failed, and every transfer that arrived. */
export function receiptsOf(dossier: Dossier): SettleResponse[] {
  const { receipts, challenge } = dossier
  return [
    ...failures(dossier).map(({ payer, said, network }) => {
      return { success: false, transaction: '', network, payer, errorReason: said }
    }),
    ...receipts.map(({ key, lost, txHash, payer, rail }) => {
      const paidBy = key === challenge.receipt ? challenge : undefined
      const settled = {
        success: !lost,
        transaction: txHash,
        network: networkOfRail(rail),
        payer,
        ...(paidBy?.chargedUnits !== undefined && { amount: paidBy.chargedUnits }),
        ...(paidBy?.signedReceipt !== undefined && { extensions: receiptExtension(paidBy.signedReceipt) }),
      }
      return lost ? { ...settled, errorReason: 'the chain dropped the transfer again' } : settled
    }),
    ...costNothing(challenge),
  ]
}

/** A metered call that was answered, and of which nothing was charged: no transfer, but an end like that of any other. */
function costNothing({
  state,
  receipt,
  chargedUnits,
  network,
  payer,
}: Dossier['challenge']): SettleResponse[] {
  if (state !== 'DELIVERED' || receipt !== null || chargedUnits !== '0') return []
  return [{ success: true, transaction: '', network, ...(payer !== null && { payer }), amount: '0' }]
}

/** What failed for certain, in the words that its buyer was told. */
function failures({ challenge, attempts }: Dossier) {
  const sent = attempts.flatMap((attempt) => {
    const { phase, reason, payer, rail } = attempt
    if (reason === null || (phase !== 'ABANDONED' && phase !== 'DEAD')) return []
    const { code, message: said } = sentPaymentFailed({ key: challenge.key }, attempt)
    return [{ payer, code, said, network: networkOfRail(rail) }]
  })
  const refused = challenge.refused ?? []
  return [...refused.map((one) => ({ ...one, network: challenge.network })), ...sent]
}

/** The payment that was refused last, if that was because its call failed and it was not sent since. */
function lastFailedCall({ challenge, attempts }: Dossier) {
  const last = challenge.refused?.at(-1)
  const isSent = attempts.some(({ key, phase }) => key === last?.key && phase !== 'RELEASED')
  return last?.code === 'CALL_FAILED' && !isSent ? last : undefined
}

/** Of a transfer that is not proven yet nothing is stored. */
const PROVE_AGAIN =
  'If you have sent a transfer for it, do not pay again: send its PaymentProof, also if you have sent it before.'

function unpaid(dossier: Dossier, sale: Sale) {
  const { challenge } = dossier
  const failedCall = lastFailedCall(dossier)
  if (failedCall) return afterFailedCall(failedCall.said, challenge)
  const offer = sale.offerAgain(challenge, 'Payment required')
  if (offer.rails.length === 0) return failed(noLongerMetered(challenge))
  const required = sale.x402.paymentRequired(offer)
  const mayHavePaid = sale.transferProofs && !offer.rails.some(isMetered)
  const proven = mayHavePaid ? ` ${PROVE_AGAIN}` : ''
  const terms = { state: 'input-required' as const, required, data: x402Challenge(offer) }
  const last = failures(dossier).at(-1)
  if (!last) {
    const text = `Not paid yet: ${priceText(offer)}. ${howToPay(offer)} A payment that was sent already was refused at once; sent again, blocking, it is told why.${proven}`
    return { ...terms, payment: 'payment-required' as const, text }
  }
  return {
    ...terms,
    payment: 'payment-failed' as const,
    error: last.code === 'PAYMENT_FAILED' ? settlementError(last.said) : ERROR_CODES[last.code].a2a.code,
    text: `${last.said} ${howToPay(offer)}${proven}`,
  }
}

/** Plans are delivered by themselves; a call is made only while its buyer is there to take the answer. */
function undelivered({ challenge }: Dossier): string {
  if (challenge.kind === 'plan') return `Paid; the credential is being issued. ${howToFetch(challenge)}`
  const failure = challenge.failure === null ? '' : ` The last call failed: ${challenge.failure}.`
  return `Paid, and not delivered yet.${failure} Send the same payload again${withCall(challenge)}: the call is made again and nothing is charged. Otherwise the payment is refunded.`
}

function failed(error: GatewayError) {
  return {
    state: 'failed' as const,
    payment: 'payment-failed' as const,
    text: error.message,
    data: error.toBody(),
    error: ERROR_CODES[error.code].a2a.code,
  }
}
