import type { Payment } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { IdString } from '../../protocol/catalog.ts'

/**
 * Reads the requestId that a request names. `Idempotency-Key` is another way to send it; its draft standard writes it in
 * quotes. The payment's own name (x402 `payment-identifier`) may repeat it, and must not contradict it.
 *
 * @param requestId as the body, or the arguments of a tool, have it
 */
export function readRequestId(
  requestId: string | undefined,
  payment: Pick<Payment, 'paymentId'> | undefined,
  idempotencyKey: string | null = null,
): string | undefined | GatewayError {
  const paymentId = payment?.paymentId
  const key =
    idempotencyKey === null ? undefined : IdString.safeParse(idempotencyKey.replace(/^"(.*)"$/, '$1'))
  if (key && !key.success) return refuse(`the Idempotency-Key header ${key.error.issues[0]!.message}`)
  if (key && requestId !== undefined && requestId !== key.data) {
    return refuse('requestId of the body and the Idempotency-Key header differ; send one, or the same twice')
  }
  const named = requestId ?? key?.data
  if (named !== undefined && paymentId !== undefined && named !== paymentId) {
    const source = requestId === undefined ? 'the Idempotency-Key header' : 'requestId of the body'
    return refuse(`${source} and the payment's payment-identifier differ; send one, or the same twice`)
  }
  return named
}

function refuse(message: string): GatewayError {
  return new GatewayError('INVALID_REQUEST', message)
}
