import { GOES_BACK, receiptOf } from './answers.ts'
import { authorizationStatus } from './authorization-status.ts'
import type { StoredPayment } from './payment-storage.ts'
import type { SettleContext } from './settle-exchange.ts'

const SPENT = new Set([...GOES_BACK, 'TX_ALREADY_REDEEMED'])

/**
 * Whether another payment may be signed for the same call after this answer. An answer that says nothing of the payment,
 * such as the 404 of something in front of the seller, decides nothing: then the chain is asked, once the payment has expired.
 */
export async function isPaymentOver(
  { fetch, clock, rpcUrlsOf }: Pick<SettleContext, 'fetch' | 'clock' | 'rpcUrlsOf'>,
  payment: StoredPayment,
  response: Response,
): Promise<boolean> {
  const code = response.headers.get('x-svc-code')
  if (response.ok || receiptOf(response)?.success || (code !== null && SPENT.has(code))) return true
  const { kind } = await authorizationStatus(fetch, payment, rpcUrlsOf(payment.network), clock.now())
  return kind === 'unused' || (kind === 'used' && code !== null)
}
