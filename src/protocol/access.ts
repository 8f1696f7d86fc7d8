import { z } from 'zod'
import { HTTP_METHODS, IdString } from './catalog.ts'

export const DEFAULT_RESOURCE_ID = 'default'

/** Longer ones are not sold: clients repeat them with their payment, of which no more than 8 KiB are read. */
export const MAX_PATH_CHARACTERS = 4096

export const ResourceSchema = z.object({
  method: z
    .string()
    .transform((method) => method.toUpperCase())
    .pipe(z.enum(HTTP_METHODS)),
  path: z.string().min(1).max(MAX_PATH_CHARACTERS),
  body: z.unknown().optional(),
})

/** Body of `POST /x402/access`. */
export const AccessRequestSchema = z.object({
  planId: IdString.optional(),
  routeId: IdString.optional(),
  requestId: IdString.optional(),
  resourceId: IdString.optional(),
  challengeId: z.string().max(160).optional(),
  resource: ResourceSchema.optional(),
  clientAgentId: z.string().max(256).optional(),
})
export type AccessRequest = z.infer<typeof AccessRequestSchema>

/** What the buyer of a plan gets: the token, where to use it, and the payment that bought it. */
export interface AccessGrant {
  type: 'AccessGrant'
  challengeId: string
  requestId: string
  accessToken: string
  tokenType: 'Bearer'
  resourceEndpoint: string
  resourceId: string
  planId: string
  txHash: string
  explorerUrl: string
  expiresAt?: string
}

/** Part of the answer to a call that was paid and not delivered. */
export interface RefundNotice {
  refund: {
    /** The payment is refunded automatically, unless a retry with the same payload is delivered first. */
    state: 'SCHEDULED'
    /** ISO 8601: the earliest time of the refund, which also waits until the payment's block is final. */
    when: string
  }
  /** Shows the state of the payment, and later of its refund. */
  statusUrl: string
}

/** `refund` and `statusUrl` are present if the call was not delivered. */
export interface ResourceResponse extends Partial<RefundNotice> {
  type: 'ResourceResponse'
  challengeId: string
  requestId: string
  routeId: string
  txHash: string
  explorerUrl: string
  resource: BackendAnswer
}

/** The backend's answer. A body that is neither JSON nor text is base64. */
export interface BackendAnswer {
  status: number
  /** null if there was no body. */
  body: unknown
  contentType?: string
  encoding?: 'base64'
  /** The JSON as the backend wrote it, if `body` has a number that JavaScript does not hold, such as 9007199254740993. */
  text?: string
}

/** A backend's unchanged answer, for a route that passes it through; without headers that a backend may not set. */
export interface RawAnswer {
  status: number
  headers: Array<[name: string, value: string]>
  body: Buffer
}

/** `raw`: only for a route that passes answers through, and only if its backend gave one. */
export interface RouteAnswer {
  response: ResourceResponse
  raw?: RawAnswer
}

/** A payment as the seller's own code gets it. */
export interface SvcPayment {
  txHash: string
  explorerUrl: string
  payer: string
  /** Micro-units. */
  amount: string
  network: string
  routeId?: string
  planId?: string
  resourceId?: string
  challengeId: string
  requestId: string
  /** The call was debited and not paid for: `amount` is 0, and the rest is of the purchase that granted the credits. */
  credits?: Debit
}

/** What a prepaid call costs. */
export interface Debit {
  planId: string
  charged: number
  /** What its account has left. */
  remaining: number
}

export const CHALLENGE_STATES = [
  'PENDING',
  'PAID',
  'DELIVERED',
  'EXPIRED',
  'CANCELLED',
  'REFUND_PENDING',
  'REFUNDED',
  'REFUND_FAILED',
] as const
/** The states of a purchase, as in `GET /x402/challenges/:challengeId`. */
export type ChallengeState = (typeof CHALLENGE_STATES)[number]

/** `GET /x402/challenges/:challengeId`. Never carries a token. */
export interface ChallengeStatus {
  challengeId: string
  requestId?: string
  state: ChallengeState
  txHash?: string
  refundTxHash?: string
  expiresAt: string
  /** The signed receipt of the delivery (JWS). */
  receipt?: string
  /** The signed receipt of the refund (JWS). */
  refundReceipt?: string
  /** The page that shows the purchase to people; only for what was paid. */
  receiptUrl?: string
}
