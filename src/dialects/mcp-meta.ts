import { createHash } from 'node:crypto'
import type { Payment } from '../engine/outcome.ts'
import { GatewayError } from '../errors.ts'
import { decodedBytes, decodeJsonObject } from '../protocol/base64.ts'
import { MAX_PAYMENT_BYTES, type X402 } from './x402/create-x402.ts'

/** x402 over MCP: payments and receipts are in `_meta` of a tool call, under these names. */
const PAYMENT_KEY = 'x402/payment'
export const RECEIPT_KEY = 'x402/payment-response'
export const TERMS_KEY = 'x402/error'

/** The payment of a tool call: in `_meta`, as an object or in base64, or else in the HTTP header. */
export function paymentOfCall(
  x402: X402,
  meta: Record<string, unknown> | undefined,
  header: string | null,
): Payment | GatewayError | undefined {
  const value = meta?.[PAYMENT_KEY]
  if (value === undefined) return header === null ? undefined : x402.readHeader(header)
  const text = typeof value === 'string'
  const bytes = text ? decodedBytes(value) : Buffer.byteLength(JSON.stringify(value))
  if (bytes > MAX_PAYMENT_BYTES) return refuse(`has ${bytes} bytes; at most ${MAX_PAYMENT_BYTES} are read`)
  const payload = text ? decodeJsonObject(value) : value
  if (typeof payload !== 'object' || payload === null) {
    return refuse('is neither an object nor the base64 encoding of one')
  }
  const read = x402.readPayment(payload)
  return 'fault' in read ? refuse(read.fault) : read
}

/** The name of a request, computed from the signature, which a retry repeats. */
export function requestIdOf({ signature }: { signature: string }): string {
  return `mcp-${createHash('sha256').update(signature).digest('hex').slice(0, 32)}`
}

function refuse(fault: string): GatewayError {
  return new GatewayError('INVALID_REQUEST', `_meta["${PAYMENT_KEY}"] ${fault}`)
}
