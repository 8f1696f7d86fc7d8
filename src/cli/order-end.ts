import { statusOf } from '../bridge/after-failure.ts'
import type { StoredPayment } from '../buyer/index.ts'
import { microToDollars } from '../protocol/amount.ts'

/** What became of an order. `open`: its payment may still be charged, so the same command must not sign another. */
export interface OrderEnd {
  isOpen: boolean
  /** About the money, where the answer does not say it. */
  words?: string
}

export interface Answered {
  /** The answer says for certain what became of the money. */
  isDecided: boolean
  /** It is the gateway's own, and not that of something in front of it. */
  isGateways: boolean
}

/** Asks the chain about a payment that the answer does not decide. It says nothing certain before the payment has expired. */
export async function orderEnd(
  payment: StoredPayment | undefined,
  { isDecided, isGateways }: Answered,
  rpcUrls: Readonly<Record<string, string>>,
): Promise<OrderEnd> {
  if (!payment || isDecided) return { isOpen: false }
  const price = priceOf(payment)
  const { kind } = await statusOf(payment, rpcUrls, Date.now())
  if (kind === 'unused')
    return { isOpen: false, words: `Its payment of ${price} has expired, and nothing was charged.` }
  if (kind === 'used' && isGateways)
    return { isOpen: false, words: `${price} was paid. The same command would buy anew.` }
  const words = `A payment of ${price} was signed and may still be charged. The same command sends the same payment again, and signs no other.`
  return { isOpen: true, words }
}

export const priceOf = ({ amount }: StoredPayment): string => microToDollars(BigInt(amount))
