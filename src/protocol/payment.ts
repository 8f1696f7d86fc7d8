import { z } from 'zod'
import { ExactPayloadSchema } from './authorization.ts'
import { IdString } from './catalog.ts'

export const X402_VERSION = 2
export const SCHEME = 'exact'
export const MAX_TIMEOUT_SECONDS = 900
/** `extra.paymentFlow` of a server that settles before its handler runs. */
export const UPFRONT = 'upfront'

/** Our `accepts[].extra`. If a buyer repeats it unchanged, that is enough to find the challenge again. */
export interface RequirementsExtra {
  name: string
  version: string
  paymentFlow?: typeof UPFRONT
  /** Scheme `upto`: how the money moves, and which wallet will settle. */
  assetTransferMethod?: string
  facilitatorAddress?: string
  /** In the first entry of `accepts` only. */
  description?: string
  planId?: string
  routeId?: string
  challengeId: string
  requestId: string
  resourceId?: string
  /** New in every 402: a buyer that repeats it has seen our answer, not only the public calldata. */
  salt: string
}

/** One element of `accepts`. */
export interface PaymentRequirements {
  scheme: string
  network: string
  asset: string
  amount: string
  payTo: string
  maxTimeoutSeconds: number
  extra: RequirementsExtra
}

/** The 402, in the `payment-required` header (base64) and, with `extensions`, in the body. */
export interface PaymentRequired {
  x402Version: typeof X402_VERSION
  error: string
  resource: { url: string; method: string; description: string; mimeType: string }
  accepts: PaymentRequirements[]
  challengeId: string
  requestId: string
}

/** The x402 extension by which a buyer names a payment; we use the name as requestId. */
export const PAYMENT_IDENTIFIER = 'payment-identifier'

const Salt = z.string().min(1).max(128)

/** Our requirements as the buyer repeats them. They show agreement and carry ids; they never set the terms. */
export const AcceptedSchema = z.object({
  scheme: z.string().optional(),
  network: z.string().optional(),
  asset: z.string().optional(),
  amount: z.string().optional(),
  payTo: z.string().optional(),
  extra: z
    .object({
      planId: IdString.optional(),
      routeId: IdString.optional(),
      challengeId: z.string().max(160).optional(),
      requestId: IdString.optional(),
      resourceId: IdString.optional(),
      salt: Salt.optional(),
    })
    .optional(),
})

/** The element of a 402's `accepts` that a payment answers, as the buyer sent it back. */
export type Accepted = z.infer<typeof AcceptedSchema>

/** A payment in x402's format; its scheme reads `payload`. */
export const PaymentEnvelopeSchema = z.object({
  x402Version: z.literal(X402_VERSION, {
    error: 'must be 2: pay with a client of x402 version 2, such as @x402/fetch or @x402/axios',
  }),
  network: z.string().optional(),
  scheme: z.string().optional(),
  payload: z.record(z.string(), z.unknown()),
  accepted: AcceptedSchema.optional(),
  /** Clients repeat every extension of the 402; only the id of this one is the buyer's own. */
  extensions: z
    .object({
      [PAYMENT_IDENTIFIER]: z.object({ info: z.object({ id: IdString.nullish() }).nullish() }).nullish(),
    })
    .nullish(),
})

/** The same with the payload of scheme `exact`. */
export const PaymentPayloadSchema = PaymentEnvelopeSchema.extend({ payload: ExactPayloadSchema })
/** The decoded `payment-signature` header. */
export type PaymentPayload = z.infer<typeof PaymentPayloadSchema>

/** `payment-response`: the result of the payment. */
export interface SettleResponse {
  success: boolean
  transaction: string
  network: string
  payer?: string
  /** What was charged of a metered call, in units of the token. */
  amount?: string
  errorReason?: string
  extensions?: Record<string, unknown>
}
