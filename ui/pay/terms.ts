import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { decodeBase64Json } from './authorization.ts'
import { Problem } from './problem.ts'

export interface FreshTerms {
  terms: PaymentRequired
  /** The seller's clock, in seconds: that of a person may be wrong, and the signature says until when it is good. */
  nowSeconds: number
}

/** The terms as they are now: those that the page was made with may have expired. */
export async function fetchTerms(url: string): Promise<FreshTerms> {
  const response = await fetch(url, { headers: { accept: 'application/json' }, cache: 'no-store' }).catch(
    () => {
      throw new Problem('The seller cannot be reached. Nothing was charged.')
    },
  )
  const header = response.headers.get('payment-required')
  const terms = header === null ? undefined : decodeBase64Json(header)
  if (response.status !== 402 || !terms) {
    throw new Problem(
      `The seller gave no price (status ${response.status}). Load the page again. Nothing was charged.`,
    )
  }
  const date = Date.parse(response.headers.get('date') ?? '')
  const nowSeconds = Math.floor((Number.isNaN(date) ? Date.now() : date) / 1000)
  return { terms: terms as unknown as PaymentRequired, nowSeconds }
}
