/**
 * Everything that the engine cannot compute reaches it through these ports, so that the simulator can run the
 * production engine. Implementations may fail at any call: a rejected promise means "unknown", never "no".
 */

import type { AuditEntry, TableName, Tables, WebhookAnswer } from './facts.ts'
import type { AccessGrant, RawAnswer, RouteAnswer, SvcPayment } from './protocol/access.ts'
import type { StatedCharge } from './protocol/charge-rule.ts'
import type { EventType } from './protocol/events.ts'
import type { Address, Hex } from './protocol/hex.ts'
import type { Statement } from './protocol/receipts.ts'

export type * from './facts.ts'
export type * from './rail.ts'

export interface Clock {
  /** Milliseconds since the epoch. Used for leases and waiting; whether a payment is valid depends on chain time. */
  now(): number
  sleep(ms: number): Promise<void>
  /** Resolves when the requests that were started in this turn have left the process. */
  requestsSent(): Promise<void>
}

export interface Random {
  bytes(length: number): Uint8Array
}

/** Alerts the operator. Must not throw. */
export interface Alerts {
  raise(kind: AlertKind, message: string): void
}
/** The kinds of alert that an operator may get. */
export type AlertKind =
  | 'gas-wallet-empty'
  | 'gas-wallet-refilled'
  | 'refund-key-missing'
  | 'refund-failed'
  | 'refund-refused'
  | 'receipt-lost'
  | 'hook-failed'
  | 'job-failed'
  | 'delivery-failed'
  | 'chain-unreachable'
  | 'chain-inconsistent'
  | 'request-failed'
  | 'store-not-durable'
  | 'refund-farming'
  | 'gas-wasted'
  | 'rail-withdrawn'
  | 'rail-returned'
  | 'rail-missing'
  | 'price-refused'
  | 'charge-refused'
  | 'webhook-parked'

// ── Store ───────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A row to write, with its table. Its `version` is that of the row as it was read; 0 where there is none yet. `inPlace`:
 * its `ref` and `dueAt` are as they were read, so that a store may leave its indexes alone.
 */
export type Put = { [N in TableName]: { table: N; row: Tables[N]; inPlace?: boolean } }[TableName]

/** Plain data: all of it is applied, or nothing. */
export interface Step {
  puts: Put[]
  /** Rows to delete, at exactly this version. */
  removes?: Array<{ table: TableName; key: string; version: number }>
  audit?: AuditEntry[]
  /**
   * Deferred: a power cut may undo the step, a crash of this process may not. Used for steps on which no answer to
   * anybody depends yet, so that they need not wait for the disk. The next step that waits for the disk makes both
   * durable.
   */
  durability?: 'deferred'
}

/** The result of a step: all of it was applied, or nothing because a row had changed. */
export type Committed = { kind: 'applied' } | { kind: 'conflict'; table: TableName; key: string }

/**
 * A versioned record store. `commit` is the only way to change anything. When it returns, its step is durable, and so
 * are all steps committed before it. Drivers commit all steps of one tick as one transaction, with one result each.
 */
export interface Store {
  /** For logs and /health, e.g. `sqlite`. */
  readonly name: string
  /** No other process can have it open, so any lease in it belongs to a process that has ended. */
  readonly exclusive: boolean
  /** Applies the step if every row still has the version that was read (0: is absent); stores version + 1. */
  commit(step: Step): Promise<Committed>
  get<N extends TableName>(table: N, keys: readonly string[]): Promise<Array<Tables[N] | undefined>>
  /** In the order of their keys. */
  list<N extends TableName>(table: N, ref: string): Promise<Array<Tables[N]>>
  /**
   * Takes up to `limit` rows with dueAt <= now, oldest first (equals by key), and postpones each to `untilMs` with a
   * new version in the same step. The new version is a fence: a process that read the row before can no longer write
   * it.
   */
  takeDue<N extends TableName>(
    table: N,
    nowMs: number,
    untilMs: number,
    limit: number,
  ): Promise<Array<Tables[N]>>
  /**
   * Reads up to `limit` rows that have a dueAt, oldest first (equals by key), after the first `offset`, and changes
   * nothing. Optional: without it, a start does not notice rows of a network that is no longer configured.
   */
  listDue?<N extends TableName>(table: N, offset: number, limit: number): Promise<Array<Tables[N]>>
  audit(challengeId: string): Promise<Array<AuditEntry & { seq: number }>>
  /**
   * The whole log after `afterSeq`, ordered by seq. On Postgres an entry may become visible after one with a higher
   * seq, so a reader that follows the log must read its last seconds again.
   */
  log(afterSeq: number, limit: number): Promise<Array<AuditEntry & { seq: number }>>
  ping(): Promise<void>
  close(): Promise<void>
  /**
   * Hints that other instances changed these challenges. A hint may be lost or come twice, so waiting requests also
   * poll.
   */
  onCommitted?(listener: (challengeIds: readonly string[]) => void): () => void
  /**
   * Called before a gateway with several networks sells: from then on, versions that know one network only must
   * refuse the store, because they would judge payments on another chain by their own. Absent where no other version
   * can open it.
   */
  admitSeveralNetworks?(): Promise<void>
  /** A copy of the store as it is now, as the bytes of a file, while it stays in use: the embedded store has it. */
  snapshot?(): AsyncGenerator<Uint8Array>
}

/**
 * Lets instances take turns where working at the same time would only cost a second try. Correctness does not depend
 * on it: two instances may have the same turn, and one that cannot reach the others continues without.
 */
export interface Turns {
  /** Waits for a turn, but not for long; call the returned function to end the turn. Never rejects. */
  take(name: string): Promise<() => void>
  close(): void
}

/** Which store keeps the records. */
export type StoreChoice =
  | { kind: 'memory' }
  | { kind: 'embedded'; dataDir: string }
  | { kind: 'postgres'; url: string; wakeupsUrl: string | null }
  | { kind: 'redis'; url: string; mustBeDurable: boolean }
  | { kind: 'custom'; store: Store }

// ── Delivery ────────────────────────────────────────────────────────────────────────────────────────────

/** A paid challenge, as delivery and the seller's code see it. */
export interface Order {
  challengeId: string
  requestId: string
  kind: 'plan' | 'route'
  itemId: string
  resourceId: string
  resource: { method: string; path: string } | null
  payer: Address
  amount: string
  network: string
  /** Empty while a metered call is not settled, and where it cost nothing. */
  txHash: Hex | ''
  clientAgentId: string | null
  /** Milliseconds; a credential's lifetime starts here, so that making it twice gives the same one. */
  paidAt: number
  /** Milliseconds; where the credential is made again that retention removed: it ends when that one did. */
  accessEndsAt?: number
  /**
   * A call that is debited: ids and transaction are of the purchase that pays for it. `remaining`: what is left once it
   * is. `sealedFor`: its answer is stored under this name; null: it is not stored, and need not be sealed.
   */
  prepaid?: { planId: string; credits: number; remaining: number; sealedFor: string | null }
}

export type Delivered =
  /** `expiresAt`: when the credential ends (ms); null: never, or not known. */
  { kind: 'delivered'; sealed: string; expiresAt: number | null } | { kind: 'failed'; reason: string }

/** Makes what was bought. Calls carry the challengeId as idempotency key and may be repeated. */
export interface Delivery {
  /** Made without leaving the process: PAID and DELIVERED are then one step. */
  readonly instant: boolean
  deliver(order: Order): Promise<Delivered>
  /** The buyer's copy of a sealed result. */
  open(order: Order, sealed: string): Promise<AccessGrant>
  /** `expiresAt` of what was delivered earlier. Undefined: it cannot be opened any more. */
  expiryOf(order: Order, sealed: string): number | null | undefined
}

/** Signs what buyers can show to others: that something was delivered, or that a payment went back. */
export interface ReceiptSigner {
  /** The statement as a compact JWS. Takes no time worth waiting for, and must not throw. */
  sign(statement: Statement): string
}

/** A receipt of a delivery, and the transaction that it names. */
export interface SignedReceipt {
  transaction: Hex
  jws: string
}

/** One exact call of a paid route, as it goes to the backend. Not stored: only its hash is. */
export interface RouteCall {
  method: string
  /** With query. */
  path: string
  headers: Record<string, string>
  body: Uint8Array | null
  /** Metered calls of embedded routes: has the seller's own handler answer. `payment` says the most that may be charged. */
  answer?: (payment: SvcPayment, letOut?: LetOut) => Promise<HandlerAnswer>
  /** Metered calls: an answer that is an event stream may go out here as it comes. */
  stream?: AnswerStream
}

/** Takes an answer while it comes. */
export interface AnswerStream {
  /** It takes one answer only. */
  readonly hasBegun: boolean
  begin(challengeId: string, head: Pick<RawAnswer, 'status' | 'headers'>): void
  write(chunk: Uint8Array): void
  /** It came whole. Without this it broke off. */
  end(): void
}

/** Takes the head of a handler's answer, and says who gets its body as it comes; undefined: it must be collected. */
export type LetOut = (
  head: Pick<HandlerAnswer, 'status' | 'headers'>,
) => ((chunk: Uint8Array) => void) | undefined

/** What the seller's own handler answered to a metered call, whole. */
export interface HandlerAnswer {
  status: number
  /** Names in lower case, a list where a header came more than once. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Uint8Array
  /** What it said about its cost, as `Settlement-Overrides` has it; it goes before a header of that name. */
  overrides?: string | undefined
}

/** `ok`: a 2xx within every limit. Otherwise the challenge stays PAID, and the payment is refunded later. */
export type Called = RouteAnswer &
  ({ ok: true; sealed: string; charge?: StatedCharge | undefined } | { ok: false; reason: string })

/** The seller's API behind paid routes. Called only inside a request that carries the payment, never by a job. */
export interface Backend {
  call(order: Order, call: RouteCall): Promise<Called>
  /** The stored answer of an earlier call; undefined when no key opens it. */
  open(order: Order, sealed: string): Promise<RouteAnswer | undefined>
}

/**
 * Asks the seller's code or server what a call of a route with a computed price costs, and returns its answer unchecked.
 * Rejects with the reason, for the operator, if there is none.
 */
export type AskPrice = (routeId: string, call: Omit<RouteCall, 'headers'>) => Promise<unknown>

/**
 * The result of forwarding a call: the backend's own answer as a stream, or the status that says why there is none.
 */
export type Forwarded = Response | { status: 502 | 504; reason: string }

/**
 * The seller's own code instead of an HTTP backend: answers one call of a route. It may be called again for the same
 * challengeId after a failed try. `payment` is null on free routes.
 */
export type FetchResource = (call: {
  routeId: string
  method: string
  /** With query. */
  path: string
  headers: Record<string, string>
  body: Uint8Array | null
  payment: SvcPayment | null
}) => ResourceAnswer | Promise<ResourceAnswer>

/** A body that is neither text nor bytes is sent as JSON. */
export type ResourceAnswer = Response | { status: number; body?: unknown; contentType?: string }

/** Any credential kind: a JWT, an API key, a signed URL. */
export type CallbackCredential =
  | string
  | { accessToken: string; expiresAt?: string | Date; resourceEndpoint?: string }
  | { token: string; expiresAt?: string | Date; resourceEndpoint?: string }

/**
 * The seller's own credential step. It may be called again for the same challengeId, after a crash or a lost key: the
 * fourth argument's challengeId is the idempotency key.
 */
export type FetchResourceCredentials = (
  planId: string,
  resourceId: string,
  walletAddress: string,
  payment: { challengeId: string; txHash: string },
) => CallbackCredential | Promise<CallbackCredential>

/** The seller's own code. Failures never harm the buyer. */
export interface Hooks {
  onPaymentReceived?(payment: SvcPayment): void | Promise<void>
  onRefund?(payment: SvcPayment & { refundTxHash: string }): void | Promise<void>
}

/** One of the seller's addresses that are told of events. */
export interface WebhookEndpoint {
  /** Computed from its URL. */
  id: string
  url: string
  /** What it is told; null: everything. */
  events: readonly EventType[] | null
}

/** The seller's endpoints, and how they are reached. */
export interface Webhooks {
  endpoints: readonly WebhookEndpoint[]
  /** Signs and posts one message; `at` is now (ms). Never rejects: an answer that did not come is one with status null. */
  send(endpoint: string, message: { id: string; body: string; at: number }): Promise<WebhookAnswer>
}
