import { createHash } from 'node:crypto'
import type { Payment } from '../engine/outcome.ts'
import { GatewayError } from '../errors.ts'
import { decodedBytes, decodeJsonObject } from '../protocol/base64.ts'
import { PAYMENT_KEY, RECEIPT_KEY, TERMS_KEY } from '../protocol/mcp-payment-keys.ts'
import type { Mpp } from './mpp/create-mpp.ts'
import { credentialsIn, isCredential } from './mpp/spoken.ts'
import { AUTHORIZATION, PAYMENT_AUTHORIZATION } from './mpp/words.ts'
import { MAX_PAYMENT_BYTES, PAYMENT_HEADER, type X402 } from './x402/create-x402.ts'

export { RECEIPT_KEY, TERMS_KEY }

/** The same names for MPP. */
const CREDENTIAL_KEY = 'org.paymentauth/credential'
export const MPP_RECEIPT_KEY = 'org.paymentauth/receipt'
export const MPP_TERMS_KEY = 'org.paymentauth/payment-required'

/** What a tool call pays with. */
export interface CallPayment {
  /** A GatewayError: it pays with something that is not understood. */
  payment?: Payment | GatewayError | undefined
  paysByMpp: boolean
}

type Meta = Record<string, unknown> | undefined

/** The payment of a tool call, in either dialect: in `_meta`, or else in the HTTP headers. */
export function paymentOfCall(
  { x402, mpp }: { x402: X402; mpp: Mpp },
  meta: Meta,
  headers: Headers,
): CallPayment {
  const [payment, credential] = [meta?.[PAYMENT_KEY], meta?.[CREDENTIAL_KEY]]
  const header = headers.get(PAYMENT_HEADER)
  const authorizations = credentialsIn(headers.get(AUTHORIZATION), headers.get(PAYMENT_AUTHORIZATION))
  const byX402 = payment !== undefined || header !== null
  const paysByMpp = credential !== undefined || authorizations.length > 0
  if (byX402 && paysByMpp) return { payment: paidTwice(), paysByMpp }
  if (payment !== undefined) return { payment: readPayment(x402, payment), paysByMpp }
  if (header !== null) return { payment: x402.readHeader(header), paysByMpp }
  if (credential !== undefined) return { payment: readCredential(mpp, credential), paysByMpp }
  if (authorizations.length > 1) return { payment: paidTwice(), paysByMpp }
  return paysByMpp ? { payment: mpp.readHeader(authorizations[0]!), paysByMpp } : { paysByMpp }
}

/** An object, or its base64 text. */
function readPayment(x402: X402, value: unknown): Payment | GatewayError {
  const text = typeof value === 'string'
  const tooLarge = sizeFault(PAYMENT_KEY, text ? decodedBytes(value) : jsonBytes(value))
  if (tooLarge) return tooLarge
  const payload = text ? decodeJsonObject(value) : value
  if (typeof payload !== 'object' || payload === null) {
    return refuse(PAYMENT_KEY, 'is neither an object nor the base64 encoding of one')
  }
  const read = x402.readPayment(payload)
  return 'fault' in read ? refuse(PAYMENT_KEY, read.fault) : read
}

/** An object, as MPP's clients send it, or the text that they would put into a header. */
function readCredential(mpp: Mpp, value: unknown): Payment | GatewayError {
  if (typeof value === 'string') return mpp.readHeader(isCredential(value) ? value : `Payment ${value}`)
  if (typeof value !== 'object' || value === null) {
    return refuse(CREDENTIAL_KEY, 'is neither an object nor the text of a credential')
  }
  return sizeFault(CREDENTIAL_KEY, jsonBytes(value)) ?? mpp.readCredential(value)
}

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

function sizeFault(key: string, bytes: number): GatewayError | undefined {
  if (bytes <= MAX_PAYMENT_BYTES) return undefined
  return refuse(key, `has ${bytes} bytes; at most ${MAX_PAYMENT_BYTES} are read`)
}

/** The name of a request, computed from the signature, which a retry repeats. */
export function requestIdOf({ signature }: { signature: string }): string {
  return `mcp-${createHash('sha256').update(signature).digest('hex').slice(0, 32)}`
}

function refuse(key: string, fault: string): GatewayError {
  return new GatewayError('INVALID_REQUEST', `_meta["${key}"] ${fault}`)
}

function paidTwice(): GatewayError {
  return new GatewayError(
    'INVALID_REQUEST',
    `the call pays twice; send either an x402 payment (_meta["${PAYMENT_KEY}"] or the header ${PAYMENT_HEADER}) or one MPP ` +
      `credential (_meta["${CREDENTIAL_KEY}"], or the header Authorization: Payment or Payment-Authorization)`,
  )
}
