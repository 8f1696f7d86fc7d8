import { PAYMENT_HEADER, type X402 } from '../../dialects/x402/create-x402.ts'
import type { Intent, Payment } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { headerOf } from './native-request.ts'
import { readRequestId } from './read-request-id.ts'

/** What the headers of a direct call say. The engine takes ids that they leave out from the terms that the payment repeats. */
export type CallHeaders = Pick<Intent, 'requestId' | 'payment'>

/** What a request pays with, by its header alone. */
export function decodePaymentHeader(
  x402: X402,
  request: Request,
): { payment?: Payment | undefined } | GatewayError {
  const header = headerOf(request, PAYMENT_HEADER)
  const payment = header === null ? undefined : x402.readHeader(header)
  return payment instanceof GatewayError ? payment : { payment }
}

/** Reads the headers of a paid route's direct call. HEAD asks for the terms of GET, but buys nothing: it has no answer to sell. */
export function decodeCallHeaders(x402: X402, request: Request): CallHeaders | GatewayError {
  const paying = decodePaymentHeader(x402, request)
  if (paying instanceof GatewayError) return paying
  const { payment } = paying
  if (payment && request.method === 'HEAD') {
    return new GatewayError('INVALID_REQUEST', 'HEAD buys nothing; send the same payment with GET')
  }
  const requestId = readRequestId(undefined, payment, headerOf(request, 'idempotency-key'))
  if (requestId instanceof GatewayError) return requestId
  return { ...(payment && { payment }), ...(requestId !== undefined && { requestId }) }
}

export const soldMethod = (method: string): string => (method === 'HEAD' ? 'GET' : method)
