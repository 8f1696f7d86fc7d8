import type { Intent } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { paymentIdOf } from '../../protocol/payment.ts'
import { decodePayment } from './decode-payment.ts'
import { headerOf } from './native-request.ts'
import { chooseRequestId } from './request-id.ts'

/** What the headers of a direct call say; ids that they leave out come from the payment's echo, in the engine. */
export type CallHeaders = Pick<Intent, 'requestId' | 'payment' | 'paymentId'>

/** Reads the headers of a paid route's direct call. HEAD asks for the terms of GET, but buys nothing: it has no answer to sell. */
export function decodeCallHeaders(request: Request): CallHeaders | GatewayError {
  const header = headerOf(request, 'payment-signature')
  const payment = header === null ? undefined : decodePayment(header)
  if (payment instanceof GatewayError) return payment
  if (payment && request.method === 'HEAD') {
    return new GatewayError('INVALID_REQUEST', 'HEAD buys nothing; send the same payment with GET')
  }
  const paymentId = paymentIdOf(payment)
  const requestId = chooseRequestId(undefined, headerOf(request, 'idempotency-key'), paymentId)
  if (requestId instanceof GatewayError) return requestId
  return {
    ...(payment && { payment }),
    ...(requestId !== undefined && { requestId }),
    ...(paymentId !== undefined && { paymentId }),
  }
}

export const soldMethod = (method: string): string => (method === 'HEAD' ? 'GET' : method)
