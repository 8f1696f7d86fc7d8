import { randomBytes } from 'node:crypto'
import type { Dossier, Intent, Outcome } from '../../engine/outcome.ts'
import { callFailed } from '../../engine/refusals.ts'
import { ERROR_CODES, type ErrorCode } from '../../protocol/error-codes.ts'
import type { SettleResponse } from '../../protocol/payment.ts'
import { howToPay, priceText, type Sale, x402Challenge } from './challenge-terms.ts'
import { afterFailedCall, projectTask, receiptsOf } from './project-task.ts'
import type { TaskView } from './task-view.ts'
import { x402Error } from './x402-error.ts'

/** Tasks of requests that came to no challenge. They are told once and stored nowhere. */
const UNOPENED = 'unopened-'

export function isUnopened(taskId: string): boolean {
  return taskId.startsWith(UNOPENED)
}

/** Which challenge an outcome is about. */
export function challengeIdOf(outcome: Outcome, intent: Intent): string | undefined {
  switch (outcome.kind) {
    case 'challenge':
      return outcome.offer.challengeId
    case 'granted':
      return outcome.grant.challengeId
    case 'resource':
      return outcome.response.challengeId
    case 'paid':
      return outcome.payment.challengeId
    case 'failed': {
      const { code, details } = outcome.error
      if (code === 'CHALLENGE_NOT_FOUND') return undefined
      return outcome.offer?.challengeId ?? details.challengeId ?? intent.challengeId
    }
  }
}

/** An outcome as the task of the message that brought it about. `dossier`: what is stored by now. */
export function renderPurchase(
  outcome: Outcome,
  intent: Intent,
  dossier: Dossier | undefined,
  sale: Sale,
): TaskView {
  const shared = {
    id:
      challengeIdOf(outcome, intent) ??
      dossier?.challenge.key ??
      `${UNOPENED}${randomBytes(12).toString('base64url')}`,
    requestId: dossier?.challenge.requestId ?? intent.requestId,
    receipts: historyOf(outcome, intent, dossier, sale),
    at: dossier?.audit.at(-1)?.at,
  }
  switch (outcome.kind) {
    case 'challenge': {
      const { offer } = outcome
      const required = sale.x402.paymentRequired(offer)
      // Paid already: the task says so, and the terms are there for a payer that lost the payload and signs another.
      if (dossier && dossier.challenge.state !== 'PENDING') {
        return { ...projectTask(dossier, sale), text: required.error, required }
      }
      const text = `Pay ${priceText(offer)}. ${howToPay(offer)}`
      const data = x402Challenge(offer)
      return { ...shared, state: 'input-required', payment: 'payment-required', text, data, required }
    }
    case 'granted': {
      const { grant, cached } = outcome
      const text = `${cached ? 'Paid before' : 'Paid'}: use accessToken as Authorization: Bearer at ${grant.resourceEndpoint}.`
      return { ...shared, state: 'completed', payment: 'payment-completed', text, result: grant }
    }
    case 'resource': {
      const { response, cached } = outcome
      const { status } = response.resource
      const { failure: reason } = outcome.settled
      if (reason !== undefined) {
        const { message } = callFailed({ key: shared.id }, reason)
        return { ...shared, ...afterFailedCall(message, dossier?.challenge), result: response }
      }
      if (!response.refund) {
        const text = `${cached ? 'Paid before' : 'Paid'}: the call was answered ${status}.`
        return { ...shared, state: 'completed', payment: 'payment-completed', text, result: response }
      }
      const text = `Paid, but the call was answered ${status}. Send the same payload again: the call is made again and nothing is charged. Otherwise the payment is refunded after ${response.refund.when}, once its block is final.`
      return { ...shared, state: 'working', payment: 'payment-verified', text, result: response }
    }
    case 'paid': {
      const text = "Paid; the seller's own server delivers it."
      return { ...shared, state: 'working', payment: 'payment-verified', text, data: outcome.payment }
    }
    case 'failed':
      return { ...shared, ...failure(outcome, intent, dossier, sale) }
  }
}

/** They say what is wrong with a message, and nothing of a payment: a task that is paid or being paid stays as it is. */
const OF_THE_MESSAGE: ReadonlySet<ErrorCode> = new Set(['INVALID_REQUEST', 'RESOURCE_REQUIRED'])

const MEND_PROOF =
  'The transfer was not looked at: mend the message and send the same proof again; do not pay again.'

function failure(
  { error, offer }: Extract<Outcome, { kind: 'failed' }>,
  intent: Intent,
  dossier: Dossier | undefined,
  sale: Sale,
) {
  const { x402, baseUrl } = sale
  const { state } = ERROR_CODES[error.code].a2a
  const { challengeId } = error.details
  const statusUrl = challengeId === undefined ? undefined : `${baseUrl}/x402/challenges/${challengeId}`
  const told = { text: error.message, data: error.toBody(statusUrl) }
  if (error.code === 'CALL_FAILED') return { ...told, ...afterFailedCall(error.message, dossier?.challenge) }
  const task = dossier && projectTask(dossier, sale)
  // Working says: the same payload again. A word of failure would make the buyer sign, and pay, anew.
  if (state === 'working') {
    const code = error.code === 'SETTLEMENT_PENDING' ? undefined : error.code
    const isPaying = intent.payment !== undefined || intent.proof !== undefined || task?.state === 'working'
    if (!isPaying) return { ...told, text: sayingAgain(error.message), state, error: code }
    return { ...told, state, payment: 'payment-submitted' as const, error: code }
  }
  const isOfTheMessage = OF_THE_MESSAGE.has(error.code)
  if (intent.proof && isOfTheMessage) told.text = `${error.message} ${MEND_PROOF}`
  if (isOfTheMessage && (task?.state === 'working' || task?.state === 'completed')) {
    return { ...told, state: task.state, payment: task.payment, error: ERROR_CODES[error.code].a2a.code }
  }
  const isUnpaid = dossier?.challenge.state === 'PENDING' && dossier.challenge.liveAuth === null
  const again =
    offer ??
    (isUnpaid && state === 'input-required' ? sale.offerAgain(dossier.challenge, error.message) : undefined)
  // Whose transfer may be good, but not its proof, would pay again by terms. A wrong amount alone is certain.
  const mayPay = intent.proof === undefined || error.code === 'AMOUNT_MISMATCH'
  // Nothing that the buyer could send would mend a challenge that is over.
  const over = dossier !== undefined && dossier.challenge.state !== 'PENDING'
  return {
    ...told,
    required: mayPay && again && again.rails.length > 0 ? x402.paymentRequired(again) : undefined,
    state: over ? ('failed' as const) : state,
    payment: 'payment-failed' as const,
    error: x402Error(error, intent.payment),
  }
}

/** Who has paid nothing is told of no payment, but of what to do. */
const sayingAgain = (said: string): string =>
  said.includes('send the same request again') ? said : `${said} Send the same request again.`

/** The same payment may have been refused before for another reason, which is all that is stored of it. */
function isStored(outcome: Outcome, payment: Intent['payment'], dossier: Dossier | undefined): boolean {
  const { challenge, attempts = [] } = dossier ?? {}
  if (attempts.some(({ key, phase }) => key === payment?.key && phase !== 'RELEASED')) return true
  const reason = outcome.kind === 'failed' ? outcome.error.message : undefined
  const isTold = (said: string): boolean => reason === undefined || reason.startsWith(said)
  return (challenge?.refused ?? []).some(({ key, said }) => key === payment?.key && isTold(said))
}

/** All that is stored, and this outcome's own receipt where it is not among it. */
function historyOf(
  outcome: Outcome,
  { payment }: Intent,
  dossier: Dossier | undefined,
  { x402 }: Sale,
): SettleResponse[] {
  const stored = dossier ? receiptsOf(dossier) : []
  const settled = 'settled' in outcome ? outcome.settled : undefined
  if (!settled) return stored
  const own = x402.settleResponse(settled)
  const known = own.success
    ? stored.some(({ success, transaction }) => success && transaction === own.transaction)
    : isStored(outcome, payment, dossier)
  return known ? stored : [...stored, own]
}
