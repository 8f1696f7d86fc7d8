import type { OfferedTerms, Payment } from '../engine/outcome.ts'
import type { X402 } from './x402/create-x402.ts'
import type { Fault } from './x402/read-payment.ts'

/** x402 over A2A: payments, terms and receipts are in a message's metadata, under these names. */
export const STATUS_KEY = 'x402.payment.status'
export const PAYLOAD_KEY = 'x402.payment.payload'
export const REQUIRED_KEY = 'x402.payment.required'
export const RECEIPTS_KEY = 'x402.payment.receipts'
export const ERROR_KEY = 'x402.payment.error'

export type Metadata = Record<string, unknown> | undefined

/** Undefined: the message has no payment. */
export function paymentOfMessage(x402: X402, metadata: Metadata): Payment | Fault | undefined {
  const value = metadata?.[PAYLOAD_KEY]
  return value === undefined || value === null ? undefined : x402.readPayment(value)
}

/** The terms that a message repeats. A payload that declines terms need not be signed. */
export function termsOfMessage(
  x402: X402,
  metadata: Metadata,
): Pick<OfferedTerms, 'echo' | 'echoedAmount'> | Fault | undefined {
  const value = metadata?.[PAYLOAD_KEY]
  if (value === undefined || value === null) return undefined
  const { accepted } = typeof value === 'object' ? (value as { accepted?: unknown }) : {}
  if (accepted === undefined) return { fault: 'is malformed: accepted is missing; expected an object' }
  return x402.readTerms(accepted)
}
