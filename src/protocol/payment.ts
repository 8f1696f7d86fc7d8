import { z } from 'zod'
import { UintString } from './amount.ts'
import { IdString } from './catalog.ts'
import { AddressSchema, Bytes32Schema, SignatureSchema } from './hex.ts'

export const X402_VERSION = 2
export const SCHEME = 'exact'
export const MAX_TIMEOUT_SECONDS = 900

/** What we put into `accepts[].extra`; a verbatim echo of it is enough to find the challenge again. */
export interface RequirementsExtra {
  name: string
  version: string
  description: string
  planId?: string
  routeId?: string
  challengeId: string
  requestId: string
  resourceId?: string
  /** Fresh in every 402: whoever echoes it has seen an answer of ours, not merely the public calldata. */
  salt: string
}

/** One element of `accepts`. */
export interface PaymentRequirements {
  scheme: typeof SCHEME
  network: string
  asset: string
  amount: string
  payTo: string
  maxTimeoutSeconds: number
  extra: RequirementsExtra
}

/** The 402: as `payment-required` header (base64) and, with `extensions`, as body. */
export interface PaymentRequired {
  x402Version: typeof X402_VERSION
  error: string
  resource: { url: string; method: string; description: string; mimeType: string }
  accepts: PaymentRequirements[]
  challengeId: string
  requestId: string
}

export const AuthorizationSchema = z.object({
  from: AddressSchema,
  to: AddressSchema,
  value: UintString,
  validAfter: UintString,
  validBefore: UintString,
  nonce: Bytes32Schema,
})
/** An EIP-3009 TransferWithAuthorization, canonical: lower-case hex, decimal strings. */
export type Authorization = z.infer<typeof AuthorizationSchema>

/** The x402 extension by which a buyer names a payment: our requestId by another name. */
export const PAYMENT_IDENTIFIER = 'payment-identifier'

const Salt = z.string().min(1).max(128)

/** The buyer's echo of our requirements. It proves agreement and names ids; it never sets the terms. */
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

export type Accepted = z.infer<typeof AcceptedSchema>

export const PaymentPayloadSchema = z.object({
  x402Version: z.literal(X402_VERSION, { error: 'must be 2' }),
  network: z.string().optional(),
  scheme: z.string().optional(),
  payload: z.object({
    signature: SignatureSchema,
    authorization: AuthorizationSchema,
    from: AddressSchema.optional(),
  }),
  accepted: AcceptedSchema.optional(),
  /** Clients echo every extension of the 402; the buyer's own word is only this one's id. */
  extensions: z
    .object({
      [PAYMENT_IDENTIFIER]: z.object({ info: z.object({ id: IdString.nullish() }).nullish() }).nullish(),
    })
    .nullish(),
})
/** The decoded `payment-signature` header. */
export type PaymentPayload = z.infer<typeof PaymentPayloadSchema>

export function paymentIdOf(payment: PaymentPayload | undefined): string | undefined {
  return payment?.extensions?.[PAYMENT_IDENTIFIER]?.info?.id ?? undefined
}

/** `payment-response`: what became of the payment. */
export interface SettleResponse {
  success: boolean
  transaction: string
  network: string
  payer?: string
  errorReason?: string
}
