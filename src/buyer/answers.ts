import { decodeJsonObject } from '../protocol/base64.ts'
import type { ErrorBody } from '../protocol/error-codes.ts'
import type { SettleResponse } from '../protocol/payment.ts'

/** Of every answer to a call that was made with credits: what it cost, and what is left. */
export const CHARGED = 'x-svc-credits-charged'
export const REMAINING = 'x-svc-credits-remaining'

/** By these codes the gateway says that the money goes back. */
export const GOES_BACK: ReadonlySet<string> = new Set(['DELIVERY_FAILED', 'CHALLENGE_REFUNDED'])

/** The gateway's error body; empty if there is none. */
export function errorBodyOf(text: string): Partial<ErrorBody> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Partial<ErrorBody>) : {}
  } catch {
    return {}
  }
}

/** What the gateway says is wrong: in words of ours, or where x402 has them. */
export function saidIn({ message, error }: Partial<ErrorBody> & { error?: unknown }): string | undefined {
  return [message, error].find((words): words is string => typeof words === 'string')
}

/** The `payment-response` header, decoded. */
export function receiptOf(response: Response): SettleResponse | undefined {
  const header = response.headers.get('payment-response')
  const value = header === null ? undefined : decodeJsonObject(header)
  if (typeof value?.success !== 'boolean' || typeof value.transaction !== 'string') return undefined
  return value as unknown as SettleResponse
}
