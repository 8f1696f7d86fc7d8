import type { GatewayError } from '../errors.ts'
import type {
  AuditEntry,
  AuthorizationRow,
  ChallengeRow,
  ReceiptRow,
  RefundRow,
  RouteCall,
  Transport,
} from '../ports.ts'
import type {
  AccessGrant,
  ChallengeStatus,
  RefundNotice,
  RouteAnswer,
  SvcPayment,
} from '../protocol/access.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Accepted, PaymentPayload, PaymentRequired, SettleResponse } from '../protocol/payment.ts'

export type { RouteCall }

/** What a transport understood of a request. Ids are syntactically valid; nothing else has been checked. */
export interface Intent {
  transport: Transport
  planId?: string
  routeId?: string
  requestId?: string
  resourceId?: string
  challengeId?: string
  /** Routes: the call to make once it is paid. */
  call?: RouteCall
  /** Routes: the seller's own handler delivers; the engine only charges. */
  embedded?: boolean
  clientAgentId?: string
  /** The network address that it came from: limits count by it, nothing else looks at it. */
  address?: string | undefined
  /** Absent: the buyer asks for terms. */
  payment?: PaymentPayload
  /**
   * Becomes the record's requestId where the challenge has lived in its id alone until this payment: MCP names requests
   * after the payment's signature.
   */
  claimRequestId?: string
  /**
   * The buyer's own name for this purchase, given with the payment (x402 `payment-identifier`). Like `claimRequestId` it
   * names a challenge that has no record yet; unlike it, one that contradicts the record's name is refused.
   */
  paymentId?: string
  /** A plain transfer that the buyer made by itself, in place of `payment`; needs `challengeId`. */
  proof?: TransferProof
}

/** `signature`: the sender's EIP-191 signature over `<challengeId>:<txHash>`. */
export interface TransferProof {
  txHash: Hex
  signature: Hex
}

/** What brings an offer back that lives in its id alone. */
export interface OfferedTerms {
  /** Of the 402: one element of `accepts`, unchanged. */
  accepted: Accepted
  /** Routes: the call that it was offered for. */
  call?: Pick<RouteCall, 'method' | 'path' | 'body'>
}

/** All that is stored of one challenge, without its result: nothing in it is a credential or lets anybody pay. */
export interface Dossier {
  challenge: Omit<ChallengeRow, 'result'>
  /** Every payment that was ever claimed for it. */
  attempts: Array<
    Pick<AuthorizationRow, 'key' | 'phase' | 'reason' | 'sends'> & { payer: Address; value: string }
  >
  receipts: ReceiptRow[]
  refunds: Array<Omit<RefundRow, 'auth'>>
  audit: Array<AuditEntry & { seq: number }>
}

/** What became of an intent; a transport renders it and decides nothing. */
export type Outcome =
  | { kind: 'challenge'; required: PaymentRequired }
  | { kind: 'granted'; grant: AccessGrant; receipt: SettleResponse; cached: boolean }
  | ({ kind: 'resource'; receipt: SettleResponse; cached: boolean } & RouteAnswer)
  /** Embedded routes: the seller's handler runs next. `notice`: what the buyer is told if it does not deliver. */
  | { kind: 'paid'; payment: SvcPayment; receipt: SettleResponse; lease: number; notice: RefundNotice }
  | { kind: 'failed'; error: GatewayError; required?: PaymentRequired; receipt?: SettleResponse }

/** One engine serves every transport. */
export interface Engine {
  /**
   * Terms for whoever brings nothing. It touches neither store nor chain, and so needs no promise; undefined: only
   * `purchase` can answer.
   */
  offer(intent: Intent): Outcome | undefined
  /** Opens a challenge, or redeems the payment that the intent carries. Never throws for an expected failure. */
  purchase(intent: Intent): Promise<Outcome>
  /**
   * Embedded routes: the seller's handler has answered, or failed. `lease` is that of the `paid` outcome. Rejects where
   * the answer must not go out: the handler took so long that the payment went back meanwhile.
   */
  finish(
    challengeId: string,
    lease: number,
    result: { ok: true } | { ok: false; reason: string },
  ): Promise<void>
  /** Embedded routes: the handler is still at work, so nobody else may deliver or refund. False: the lease is gone. */
  renew(challengeId: string, lease: number): Promise<boolean>
  /** undefined: not an id of this gateway. */
  status(challengeId: string): Promise<ChallengeStatus | undefined>
  /** undefined: nothing is stored under this id. */
  inspect(challengeId: string): Promise<Dossier | undefined>
  /** The status now and after each change, here or on another instance, until nothing more can change or `signal` aborts. */
  watch(challengeId: string, signal: AbortSignal): AsyncIterable<ChallengeStatus>
  /**
   * Only PENDING without a live attempt can be cancelled. A challenge that was offered and not stored is found by the terms
   * of its 402.
   */
  cancel(
    challengeId: string,
    actor: 'buyer' | 'operator',
    offered?: OfferedTerms,
  ): Promise<ChallengeStatus | GatewayError>
  /** REFUND_FAILED → REFUND_PENDING; also a surplus whose refund failed is tried again. */
  retryRefund(challengeId: string): Promise<ChallengeStatus | GatewayError>
  /** REFUND_FAILED → REFUNDED, by a transaction of the operator's own that the chain confirms. */
  proveRefund(challengeId: string, txHash: string): Promise<ChallengeStatus | GatewayError>
  /** Rejects, with the reason, while the chain does not let anything be sold. */
  ready(): Promise<void>
  /** One pass over all work that is due: expire, resolve, deliver, refund. Safe on many instances at once. */
  runJobs(): Promise<void>
  /** Resolves when what a crash left is picked up; the jobs then run until `stop`, which waits for what is in flight. */
  start(): Promise<void>
  stop(): Promise<void>
}
