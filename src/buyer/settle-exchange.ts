import { microToDollars } from '../protocol/amount.ts'
import { errorBodyOf, saidIn } from './answers.ts'
import { type AuthorizationStatus, authorizationStatus, expiryMs } from './authorization-status.ts'
import { BuyerError } from './buyer-error.ts'
import { readDocument } from './capped-body.ts'
import { type Charge, chargeOf } from './charge-of.ts'
import { type Choice, type ChooseContext, chooseOffer } from './choose-offer.ts'
import { claimPayment, type PayContext } from './claim-payment.ts'
import { countCharge } from './count-charge.ts'
import type { StoredPayment } from './payment-storage.ts'
import { findOffer } from './read-offer.ts'
import { reservationOf } from './reservations.ts'
import { type ApproveContext, sendApproved } from './send-approved.ts'
import { sendUntilDecided, type Waiting } from './send-until-decided.ts'
import { signedPermit } from './signed-payment.ts'

/** One purchase: how to request it, and the key under which its payment is stored. */
export interface Exchange {
  key: string
  subject: string
  /** Only in messages. */
  requestId?: string | undefined
  /** Where the last request went: the payment is sent only there. */
  url(): string
  /** Sends the request, with this payment if there is one. */
  send(payment: StoredPayment | undefined, signal: AbortSignal): Promise<Response>
  /** What to say where nobody answers an unpaid request; absent: nothing was ever signed for it. */
  advice?: string
  /** Repeat the unpaid request after a failure; a plain fetch returns failures to its caller. */
  retryUnpaid: boolean
  signal?: AbortSignal | undefined
}

export interface Settled {
  response: Response
  /** Absent: the answer came without a payment. */
  payment?: StoredPayment
  /** Absent: the answer does not say it. */
  charge?: Charge | undefined
}

export interface SettleContext extends Waiting, PayContext, ChooseContext, ApproveContext {}

/**
 * Requests, pays and sends the same payment until the outcome is known. The payment is stored before it is first
 * sent, so a later call under the same key, even after a crash, sends that one and no other. Another one is signed
 * only if the chain shows that this one expired unused, whatever the seller says.
 */
export async function settleExchange(context: SettleContext, exchange: Exchange): Promise<Settled> {
  const { storage, clock } = context
  const deadlineMs = clock.now() + context.maxWaitSeconds * 1000
  let payment = await storage.get(exchange.key)
  let limitMicro = context.maxMicro
  let unpaidExchange = exchange
  for (;;) {
    const resumed = payment !== undefined
    if (payment) assertUsable(payment, context, exchange)
    else {
      const asked = await sendUntilDecided(context, unpaidExchange, undefined, deadlineMs)
      const choice = await chooseFrom(asked, context, limitMicro, exchange.signal)
      if (!choice) return { response: asked }
      context.onStep({ step: 'challenge', ...choice })
      payment = await claimPayment(context, exchange, choice.offer)
      assertUsable(payment, context, exchange)
    }
    const response = await sendApproved(context, exchange, { payment, resumed }, deadlineMs)
    if (!saysUnpaid(response)) return { response, payment, charge: await charged(context, payment, response) }
    const rpcUrls = context.rpcUrlsOf(payment.network)
    const authorization = await authorizationStatus(context.fetch, payment, rpcUrls, clock.now())
    if (authorization.kind === 'unused') {
      await storage.forget(exchange.key, payment)
      if (context.maxTotalMicro !== undefined) await storage.release(reservationOf(payment))
    }
    // A payment that was signed in this call and failed would fail again, so the caller decides.
    if (authorization.kind !== 'unused' || !resumed)
      throw await unpaid(response, payment, authorization, exchange)
    await response.body?.cancel()
    // The next offer may have another price, but no more than the first price was agreed to.
    const agreedMicro = BigInt(payment.amount)
    if (agreedMicro < limitMicro) limitMicro = agreedMicro
    payment = undefined
    unpaidExchange = {
      ...exchange,
      advice: 'The earlier payment has expired unused, and no other was signed',
    }
  }
}

/** What the answer says that it cost; for `maxTotal` the chain is asked too. */
async function charged(
  context: SettleContext,
  payment: StoredPayment,
  response: Response,
): Promise<Charge | undefined> {
  const charge = chargeOf(payment, response)
  if (!charge || !signedPermit(payment)) return charge
  const { maximumMicro, chargedMicro, txHash } = charge
  context.onStep({ step: 'charged', maximumMicro, chargedMicro, txHash })
  if (context.maxTotalMicro !== undefined) await countCharge(context, payment, txHash)
  return charge
}

/** Does the gateway say that it took nothing and would accept another payment? */
function saysUnpaid({ status, headers }: Response): boolean {
  return status === 402 || (status === 410 && headers.get('x-svc-code') === 'CHALLENGE_EXPIRED')
}

async function unpaid(
  response: Response,
  payment: StoredPayment,
  authorization: AuthorizationStatus,
  { requestId }: Exchange,
): Promise<BuyerError> {
  const gateway = errorBodyOf((await readDocument(response)) ?? '')
  const said = saidIn(gateway)?.replace(/\.$/, '') ?? `HTTP ${response.status}`
  const details = { requestId, statusUrl: gateway.statusUrl, gateway }
  if (authorization.kind === 'used') {
    const message = `the seller says that the payment failed (${said}), but the chain shows that its authorization was used or cancelled; no other one is signed for this request`
    return new BuyerError('ALREADY_USED', message, details)
  }
  if (authorization.kind === 'unused') {
    return new BuyerError('PAYMENT_FAILED', `the payment failed: ${said}`, {
      ...details,
      retryAt: new Date(expiryMs(payment)),
    })
  }
  const retryAt = new Date(authorization.kind === 'open' ? authorization.untilMs : expiryMs(payment))
  const advice =
    authorization.kind === 'open'
      ? `Its authorization could still be used, so no other one is signed before ${retryAt.toISOString()}; buy again after that`
      : `Whether its authorization was used is not known, so no other one is signed: ${authorization.why}`
  return new BuyerError('PAYMENT_FAILED', `the payment failed: ${said}. ${advice}`, { ...details, retryAt })
}

function assertUsable(
  payment: StoredPayment,
  context: SettleContext,
  { subject, requestId, url }: Exchange,
): void {
  if (payment.subject !== subject) {
    const message = 'this requestId already paid for something else; use another requestId'
    throw new BuyerError('REQUEST_ID_REUSED', message, { requestId })
  }
  if (BigInt(payment.amount) > context.maxMicro) {
    const price = microToDollars(BigInt(payment.amount))
    const message = `a stored payment of ${price} exceeds maxAmount; it was not sent`
    throw new BuyerError('OVER_LIMIT', message, { requestId })
  }
  const { host } = new URL(payment.url ?? url())
  if (context.allowedHosts && !context.allowedHosts.has(host)) {
    const message = `a stored payment is for ${host}, which is not in allowedHosts; it was not sent`
    throw new BuyerError('OFFER_REFUSED', message, { requestId })
  }
}

/** Chooses among the offers of a 402, whose body is read; any other answer is left unread. */
async function chooseFrom(
  response: Response,
  context: SettleContext,
  limitMicro: bigint,
  signal: AbortSignal | undefined,
): Promise<Choice | undefined> {
  if (response.status !== 402) return undefined
  const header = response.headers.get('payment-required')
  const raw = findOffer(header, '') ?? findOffer(null, (await readDocument(response.clone())) ?? '')
  if (!raw) return undefined
  await response.body?.cancel()
  return chooseOffer(raw, context, limitMicro, signal)
}
