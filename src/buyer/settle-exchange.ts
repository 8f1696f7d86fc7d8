import { BuyerError } from './buyer-error.ts'
import type { BuyerStep } from './buyer-step.ts'
import type { PaymentStorage, StoredPayment } from './payment-storage.ts'
import { type BuyerNetwork, findOffer, readOffer } from './read-offer.ts'
import { sendUntilDecided, type Waiting } from './send-until-decided.ts'
import { type BuyerAccount, signPayment } from './sign-payment.ts'

/** One thing to buy: how to ask for it, and under which name its payment is kept. */
export interface Exchange {
  key: string
  subject: string
  /** Only in messages. */
  requestId?: string | undefined
  /** Sends the request, with this `payment-signature` if there is one. */
  send(header: string | undefined, signal: AbortSignal): Promise<Response>
  /** Ask again when the unpaid request meets a fault; a plain fetch hands faults to its caller. */
  retryUnpaid: boolean
  signal?: AbortSignal | undefined
}

export interface Settled {
  response: Response
  /** Absent: the answer came without a payment. */
  payment?: StoredPayment
}

export interface SettleContext extends Waiting {
  account: BuyerAccount
  networks: readonly BuyerNetwork[]
  maxMicro: bigint
  storage: PaymentStorage
  onStep(step: BuyerStep): void
}

/** An authorization is signed at most twice in one call, and the second time only as `isWorthless` says. */
const MAX_SIGNATURES = 2

/** Chains tick in seconds and clocks differ: this close to its end an authorization is refused by any gateway. */
const VALIDITY_MARGIN_SECONDS = 10

/**
 * Asks, pays and sends the same payment until the outcome is known. The payment is stored before it is sent for
 * the first time, so whoever comes back under the same key, even after a crash, sends that one and no other.
 */
export async function settleExchange(context: SettleContext, exchange: Exchange): Promise<Settled> {
  const { storage, clock } = context
  const deadlineMs = clock.now() + context.maxWaitSeconds * 1000
  let payment = await storage.get(exchange.key)
  let resumed = payment !== undefined
  for (let signatures = 0; ; ) {
    if (payment) assertUsable(payment, context, exchange)
    else {
      const asked = await sendUntilDecided(context, exchange, undefined, deadlineMs)
      const offer = await offerOf(asked, context)
      if (!offer) return { response: asked }
      context.onStep({ step: 'challenge', offer })
      const signed = await signPayment(
        context.account,
        offer,
        exchange.subject,
        Math.floor(clock.now() / 1000),
      )
      signatures++
      context.onStep({ step: 'sign', offer, validBefore: signed.validBefore })
      payment = await storage.claim(exchange.key, signed)
      assertUsable(payment, context, exchange)
    }
    const response = await sendUntilDecided(context, exchange, { payment, resumed }, deadlineMs)
    const fate = judge(response, payment, Math.floor(clock.now() / 1000))
    // Forgotten on a definite failure: the next purchase under this key, a decision of its own, signs anew.
    if (fate !== 'final') await storage.forget(exchange.key, payment)
    if (fate !== 'worthless' || signatures >= MAX_SIGNATURES) return { response, payment }
    payment = undefined
    resumed = false
  }
}

/**
 * What an answer says of the payment that was sent. 'worthless' lets us sign again unasked, so it is said only
 * when its age is the cause: the authorization can no longer be used on any chain, or its challenge expired unpaid.
 * Any other definite failure (no balance, say) would fail again; the caller decides.
 */
function judge(
  response: Response,
  payment: StoredPayment,
  nowSeconds: number,
): 'final' | 'failed' | 'worthless' {
  const code = response.headers.get('x-svc-code')
  if (response.status === 410 && code === 'CHALLENGE_EXPIRED') return 'worthless'
  if (response.status !== 402) return 'final'
  return Number(payment.validBefore) <= nowSeconds + VALIDITY_MARGIN_SECONDS ? 'worthless' : 'failed'
}

function assertUsable(
  payment: StoredPayment,
  context: SettleContext,
  { subject, requestId }: Exchange,
): void {
  if (payment.subject !== subject) {
    const message = 'this requestId already paid for something else; use another requestId'
    throw new BuyerError('REQUEST_ID_REUSED', message, { requestId })
  }
  if (BigInt(payment.amount) > context.maxMicro) {
    const message = `a stored payment of ${payment.amount} micro-units exceeds maxAmount; it was not sent`
    throw new BuyerError('OVER_LIMIT', message, { requestId })
  }
}

async function offerOf(response: Response, context: SettleContext) {
  if (response.status !== 402) return undefined
  const raw = findOffer(response.headers.get('payment-required'), await response.clone().text())
  return raw && readOffer(raw, context.networks, context.maxMicro)
}
