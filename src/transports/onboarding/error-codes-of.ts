import { ERROR_CODES, type ErrorCode } from '../../protocol/error-codes.ts'
import { computesPrices, sellsCredits } from './credit-words.ts'
import type { Offer } from './offer.ts'

const OF_CREDITS: readonly string[] = ['CREDITS_EXHAUSTED', 'IDEMPOTENCY_CONFLICT'] satisfies ErrorCode[]
const OF_PRICES: readonly string[] = ['PRICE_TOO_HIGH', 'PRICE_UNAVAILABLE'] satisfies ErrorCode[]

/** The failures that a buyer of this seller can meet. */
export function errorCodesOf(offer: Offer): ErrorCode[] {
  const [credits, prices] = [sellsCredits(offer), computesPrices(offer)]
  const codes = Object.keys(ERROR_CODES) as ErrorCode[]
  return codes.filter(
    (code) => (credits || !OF_CREDITS.includes(code)) && (prices || !OF_PRICES.includes(code)),
  )
}
