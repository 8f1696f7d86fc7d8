import { microToDollars } from '../protocol/amount.ts'
import { UPTO_SCHEME } from '../protocol/permit2.ts'
import { BuyerError } from './buyer-error.ts'
import type { BuyerStep } from './buyer-step.ts'
import type { PaymentStorage, StoredPayment } from './payment-storage.ts'
import type { Offer } from './read-offer.ts'
import { meteredReservation } from './reservations.ts'
import { type ReviewContext, reviewReservations } from './review-reservations.ts'
import type { BuyerClock } from './send-until-decided.ts'
import { type BuyerAccount, newNonce, signPayment } from './sign-payment.ts'

export interface PayContext extends ReviewContext {
  account: BuyerAccount
  maxMicro: bigint
  /** Undefined: no limit over all payments. */
  maxTotalMicro: bigint | undefined
  /** Undefined: whichever host the caller names. */
  allowedHosts: ReadonlySet<string> | undefined
  validSeconds: number
  /** The same of a metered call, which is charged only after it was made. */
  meteredSeconds: number
  storage: PaymentStorage
  clock: BuyerClock
  onStep(step: BuyerStep): void
  /** What it throws is the end of the purchase, before anything is signed. */
  beforeSign?: ((offer: Offer) => Promise<void>) | undefined
}

/**
 * Signs a payment for an offer and stores it; if one is already stored under this key, that one is used. The amount
 * is added to the total before signing: a crash in between leaves the total too high, never too low.
 */
export async function claimPayment(
  context: PayContext,
  {
    key,
    subject,
    requestId,
    url,
  }: { key: string; subject: string; requestId?: string | undefined; url(): string },
  offer: Offer,
): Promise<StoredPayment> {
  const { storage, maxTotalMicro, allowedHosts } = context
  const { host } = new URL(url())
  if (allowedHosts && !allowedHosts.has(host)) {
    const message = `${host} asks for a payment and is not in allowedHosts; nothing was signed`
    throw new BuyerError('OFFER_REFUSED', message, { requestId })
  }
  await context.beforeSign?.(offer)
  const nonce = newNonce()
  const isMetered = offer.scheme === UPTO_SCHEME
  const longest = isMetered ? context.meteredSeconds : context.validSeconds
  const seconds = Math.floor(Math.min(longest, offer.maxTimeoutSeconds))
  const validUntil = Math.floor(context.clock.now() / 1000) + seconds
  const reservation = isMetered
    ? meteredReservation({
        network: offer.network.id,
        from: context.account.address,
        nonce: BigInt(nonce),
        validBefore: String(validUntil),
      })
    : nonce
  const reserve = async (limitMicro: bigint) =>
    (await storage.reserve(reservation, offer.amountMicro, limitMicro)) ||
    // Maxima of earlier metered calls may count that can no longer be charged.
    ((await reviewReservations(context)) && storage.reserve(reservation, offer.amountMicro, limitMicro))
  if (maxTotalMicro !== undefined && !(await reserve(maxTotalMicro))) {
    const price = microToDollars(offer.amountMicro)
    const message = `with another ${price} all payments would exceed maxTotal, ${microToDollars(maxTotalMicro)}; nothing was signed`
    throw new BuyerError('OVER_TOTAL', message, { requestId })
  }
  let claimed: StoredPayment | undefined
  let signed: StoredPayment | undefined
  try {
    signed = await signPayment(context.account, offer, { nonce, validUntil, subject, url: url() })
    context.onStep({ step: 'sign', offer, validBefore: signed.validBefore })
    claimed = await storage.claim(key, signed)
    return claimed
  } finally {
    // This payment was never sent: signing failed, or another payment was stored first. A claim without an answer may
    // have succeeded.
    const lost = signed === undefined || (claimed !== undefined && claimed.header !== signed.header)
    if (maxTotalMicro !== undefined && lost) await storage.release(reservation)
  }
}
