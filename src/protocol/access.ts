import { z } from 'zod'
import { HTTP_METHODS, IdString } from './catalog.ts'

export const DEFAULT_RESOURCE_ID = 'default'

export const ResourceSchema = z.object({
  method: z
    .string()
    .transform((method) => method.toUpperCase())
    .pipe(z.enum(HTTP_METHODS)),
  path: z.string().min(1).max(4096),
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

/** Said of a call that was paid and not delivered. */
export interface RefundNotice {
  refund: {
    /** The payment goes back automatically, unless the same payload, sent again, is delivered first. */
    state: 'SCHEDULED'
    /** ISO 8601. Not before then, and not before the payment's block is final. */
    when: string
  }
  /** How the payment, and later its refund, stands. */
  statusUrl: string
}

/** `refund` and `statusUrl` are there when the call was not delivered. */
export interface ResourceResponse extends Partial<RefundNotice> {
  type: 'ResourceResponse'
  challengeId: string
  requestId: string
  routeId: string
  txHash: string
  explorerUrl: string
  resource: BackendAnswer
}

/** What the backend said. Bodies that are neither JSON nor text are base64. */
export interface BackendAnswer {
  status: number
  /** null when there was none. */
  body: unknown
  contentType?: string
  encoding?: 'base64'
}

/** A backend's answer as it came, for a route that passes it through; without headers that are not the backend's to say. */
export interface RawAnswer {
  status: number
  headers: Array<[name: string, value: string]>
  body: Buffer
}

/** `raw`: only of a route that passes answers through, and only where its backend gave one. */
export interface RouteAnswer {
  response: ResourceResponse
  raw?: RawAnswer
}

/** What a seller's own code is told of a payment. */
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
export type ChallengeState = (typeof CHALLENGE_STATES)[number]

/** `GET /x402/challenges/:challengeId`. Never carries a token. */
export interface ChallengeStatus {
  challengeId: string
  requestId?: string
  state: ChallengeState
  txHash?: string
  refundTxHash?: string
  expiresAt: string
}
