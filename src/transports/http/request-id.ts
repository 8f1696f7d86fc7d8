import { GatewayError } from '../../errors.ts'
import { IdString } from '../../protocol/catalog.ts'

/**
 * The requestId that the request names. `Idempotency-Key` is another name of it; its draft standard writes it in quotes.
 * The payment's own name (x402 `payment-identifier`) may repeat it, and must not contradict it.
 */
export function chooseRequestId(
  fromBody: string | undefined,
  header: string | null,
  paymentId?: string,
): string | undefined | GatewayError {
  const key = header === null ? undefined : IdString.safeParse(header.replace(/^"(.*)"$/, '$1'))
  if (key && !key.success) return refuse(`the Idempotency-Key header ${key.error.issues[0]!.message}`)
  if (key && fromBody !== undefined && fromBody !== key.data) {
    return refuse('requestId of the body and the Idempotency-Key header differ; send one, or the same twice')
  }
  const requestId = fromBody ?? key?.data
  if (requestId !== undefined && paymentId !== undefined && requestId !== paymentId) {
    const source = fromBody === undefined ? 'the Idempotency-Key header' : 'requestId of the body'
    return refuse(`${source} and the payment's payment-identifier differ; send one, or the same twice`)
  }
  return requestId
}

function refuse(message: string): GatewayError {
  return new GatewayError('INVALID_REQUEST', message)
}
