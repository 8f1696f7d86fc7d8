import { GatewayError } from '../../errors.ts'
import { decodedBytes, decodeJsonObject } from '../../protocol/base64.ts'
import { type PaymentPayload, PaymentPayloadSchema } from '../../protocol/payment.ts'
import { nameFault } from './name-fault.ts'

const MAX_PAYLOAD_BYTES = 8 * 1024

/** Decodes the `payment-signature` header. Its content never enters a message: it is as good as money. */
export function decodePayment(header: string): PaymentPayload | GatewayError {
  // Fetch joins repeated headers with a comma, which no base64 has.
  if (header.includes(',')) return refuse('is given more than once; send exactly one')
  const bytes = decodedBytes(header)
  if (bytes > MAX_PAYLOAD_BYTES)
    return refuse(`decodes to ${bytes} bytes; at most ${MAX_PAYLOAD_BYTES} are read`)
  const value = decodeJsonObject(header)
  if (!value) return refuse('is not the base64 or base64url encoding of a JSON object')
  const parsed = PaymentPayloadSchema.safeParse(value)
  return parsed.success ? parsed.data : refuse(`is malformed: ${nameFault(parsed.error)}`)
}

function refuse(fault: string): GatewayError {
  return new GatewayError('INVALID_REQUEST', `the payment-signature header ${fault}`)
}
