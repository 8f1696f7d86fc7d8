import { STATUS_CODES } from 'node:http'
import type { SettledPayment } from '../../engine/outcome.ts'
import type { ErrorBody, ErrorCode } from '../../protocol/error-codes.ts'
import { MalformedCredential } from './malformed-credential.ts'
import { METHOD } from './words.ts'

/** `Payment-Receipt`: what a success says of its payment. */
export interface PaymentReceipt {
  method: string
  reference: string
  status: 'success'
  timestamp: string
}

/** Undefined: no money moved, or it is not known when. */
export function receiptOf({ txHash, paidAt, failure }: SettledPayment): PaymentReceipt | undefined {
  if (failure !== undefined || !txHash || paidAt === undefined) return undefined
  return { method: METHOD, reference: txHash, status: 'success', timestamp: new Date(paidAt).toISOString() }
}

const PROBLEMS = 'https://paymentauth.org/problems/'

/** How MPP names our errors. The others have no name of their own there. */
const NAMES: Partial<Record<ErrorCode, [name: string, title: string]>> = {
  METHOD_UNSUPPORTED: ['method-unsupported', 'Method Unsupported'],
  AMOUNT_MISMATCH: ['payment-insufficient', 'Payment Insufficient'],
  INVALID_PROOF: ['verification-failed', 'Verification Failed'],
  PAYMENT_FAILED: ['verification-failed', 'Verification Failed'],
  TX_ALREADY_REDEEMED: ['verification-failed', 'Verification Failed'],
  CHALLENGE_NOT_FOUND: ['invalid-challenge', 'Invalid Challenge'],
  CHALLENGE_EXPIRED: ['payment-expired', 'Payment Expired'],
}

const MALFORMED = ['malformed-credential', 'Malformed Credential'] as const

/** An error as problem details (RFC 9457), with the fields that our own errors have. `error`: what the body tells of, where it is known. */
export function problemOf(body: ErrorBody, error?: unknown): Record<string, unknown> {
  const { type: _type, message, httpStatus, ...rest } = body
  const [name, title] = error instanceof MalformedCredential ? MALFORMED : (NAMES[body.code] ?? [])
  return {
    type: name === undefined ? 'about:blank' : PROBLEMS + name,
    title: title ?? STATUS_CODES[httpStatus] ?? body.code,
    status: httpStatus,
    detail: message,
    ...rest,
  }
}

/** What goes with terms where nothing was paid yet. */
export const PAYMENT_REQUIRED_PROBLEM = {
  type: `${PROBLEMS}payment-required`,
  title: 'Payment Required',
  status: 402,
} as const
