import { createHash } from 'node:crypto'
import { GatewayError } from '../../errors.ts'
import { decodedBytes, decodeJsonObject } from '../../protocol/base64.ts'
import { type PaymentPayload, PaymentPayloadSchema } from '../../protocol/payment.ts'
import { decodePayment } from '../http/decode-payment.ts'
import { nameFault } from '../http/name-fault.ts'
import type { RpcMessage } from './parse-message.ts'

const META_KEY = 'x402/payment'
const MAX_PAYLOAD_BYTES = 8 * 1024

type Meta = Record<string, unknown> | undefined

/** The payment of a tool call: `_meta["x402/payment"]`, as an object or in base64, or else the HTTP header. */
export function findPayment(meta: Meta, header: string | null): PaymentPayload | GatewayError | undefined {
  const value = meta?.[META_KEY]
  if (value === undefined) return header === null ? undefined : decodePayment(header)
  const text = typeof value === 'string'
  const bytes = text ? decodedBytes(value) : Buffer.byteLength(JSON.stringify(value))
  if (bytes > MAX_PAYLOAD_BYTES) return refuse(`has ${bytes} bytes; at most ${MAX_PAYLOAD_BYTES} are read`)
  const payload = text ? decodeJsonObject(value) : value
  if (typeof payload !== 'object' || payload === null)
    return refuse('is neither an object nor the base64 encoding of one')
  const parsed = PaymentPayloadSchema.safeParse(payload)
  return parsed.success ? parsed.data : refuse(`is malformed: ${nameFault(parsed.error)}`)
}

/** What this message pays with. Something that is no payment must not be a way around the limit. */
export function paymentIn({ method, params }: RpcMessage, headers: Headers): PaymentPayload | undefined {
  if (method !== 'tools/call' || typeof params !== 'object' || params === null) return undefined
  const { _meta } = params as { _meta?: unknown }
  const meta = typeof _meta === 'object' && _meta !== null ? (_meta as Meta) : undefined
  const payment = findPayment(meta, headers.get('payment-signature'))
  return payment instanceof GatewayError ? undefined : payment
}

/** A request's name, made from what a retry repeats. */
export function requestIdOf({ payload }: PaymentPayload): string {
  return `mcp-${createHash('sha256').update(payload.signature).digest('hex').slice(0, 32)}`
}

function refuse(fault: string): GatewayError {
  return new GatewayError('INVALID_REQUEST', `_meta["${META_KEY}"] ${fault}`)
}
