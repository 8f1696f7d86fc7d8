/**
 * Everything the engine cannot compute by itself reaches it through these ports, so that the simulator runs
 * the production engine. Implementations may fail at any call: a rejected promise means "unknown", never "no".
 */
import type {
  AuditEntry,
  AuthKey,
  Block,
  MinedTx,
  SignedAuthorization,
  SimResult,
  TableName,
  Tables,
  TransferTx,
  Use,
} from './facts.ts'
import type { AccessGrant, RouteAnswer, SvcPayment } from './protocol/access.ts'
import type { Address, Hex } from './protocol/hex.ts'
import type { Authorization } from './protocol/payment.ts'

export type * from './facts.ts'

export interface Clock {
  /** Milliseconds since the epoch. Governs leases and waiting; validity of payments goes by chain time. */
  now(): number
  /** By 0 only until what was asked of others in this turn has gone out. */
  sleep(ms: number): Promise<void>
}

export interface Random {
  bytes(length: number): Uint8Array
}

/** Tells the operator. Must not throw. */
export interface Alerts {
  raise(kind: AlertKind, message: string): void
}
export type AlertKind =
  | 'gas-wallet-empty'
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

// ── Store ───────────────────────────────────────────────────────────────────────────────────────────────

export type Put = { [N in TableName]: { table: N; row: Tables[N] } }[TableName]

/** Plain data: all of it is applied, or nothing. */
export interface Step {
  puts: Put[]
  /** Rows to delete, at exactly this version. */
  removes?: Array<{ table: TableName; key: string; version: number }>
  audit?: AuditEntry[]
  /**
   * A power cut may take it, as if it had never been; a crash of ours may not. For what promises nothing to anybody yet,
   * so that it need not wait for the disk.
   */
  soft?: boolean
}

export type Committed = { kind: 'applied' } | { kind: 'conflict'; table: TableName; key: string }

/**
 * A versioned record store. `commit` is the only way to change anything; it is durable when it answers, and so is all
 * that was committed before it. Drivers
 * commit all steps that gathered in one tick as one transaction, with one result each.
 */
export interface Store {
  /** For logs and /health, e.g. `sqlite`. */
  readonly name: string
  /** No other process can have it open: whoever held a lease before us is dead. */
  readonly exclusive: boolean
  /** Applies the step if every row still has the version that was read (0: is absent); stores version + 1. */
  commit(step: Step): Promise<Committed>
  get<N extends TableName>(table: N, keys: readonly string[]): Promise<Array<Tables[N] | undefined>>
  /** In the order of their keys. */
  list<N extends TableName>(table: N, ref: string): Promise<Array<Tables[N]>>
  /**
   * Takes up to `limit` rows with dueAt <= now, oldest first (equals by key), and postpones each to `untilMs` with a new version
   * in the same step. The new version is the fence: whoever held the row before can no longer write it.
   */
  takeDue<N extends TableName>(
    table: N,
    nowMs: number,
    untilMs: number,
    limit: number,
  ): Promise<Array<Tables[N]>>
  audit(challengeId: string): Promise<Array<AuditEntry & { seq: number }>>
  /**
   * The whole log after `afterSeq`, in the order of seq. On Postgres an entry may become visible after one with a higher
   * seq: whoever follows the log reads its last seconds again.
   */
  log(afterSeq: number, limit: number): Promise<Array<AuditEntry & { seq: number }>>
  ping(): Promise<void>
  close(): Promise<void>
  /** Hints that other instances changed these challenges: may be lost or come twice, so waiters poll as well. */
  onCommitted?(listener: (challengeIds: readonly string[]) => void): () => void
}

/**
 * Lets instances go one after the other where going at once would only cost a second try. It makes nothing safe: two may
 * have the same turn, and whoever cannot ask goes on without.
 */
export interface Turns {
  /** Waits for its turn, though not for long; the answer ends it. Never rejects. */
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

// ── Chain ───────────────────────────────────────────────────────────────────────────────────────────────

export type Submitted = 'accepted' | 'known' | 'nonce-low' | 'underpriced' | 'unknown'

export interface WalletState {
  /** Transactions mined so far: the next nonce the chain expects. */
  nonce: number
  balanceWei: bigint
  baseFeeWei: bigint
  priorityFeeWei: bigint
}

export interface SeenUses {
  at: Block
  found: Use[]
  mined: MinedTx[]
}

/** Nothing of ours is mined up to `at`, or `seen` tells all. */
export interface Glance {
  at: Block
  seen?: SeenUses
}

export interface Chain {
  head(): Promise<{ latest: Block; finalized: Block }>
  /** All in one call at the latest block, in order; payers with code as if `sender` sent the transaction. */
  simulate(
    auths: readonly SignedAuthorization[],
    sender?: Address,
  ): Promise<{ at: Block; results: SimResult[] }>
  /**
   * Uses in canonical blocks from `fromHeight` up to `at`, and which of these transactions of ours are mined. One that is
   * mined up to `at` has shown all its uses.
   */
  uses(keys: readonly AuthKey[], fromHeight: number, hashes?: readonly Hex[]): Promise<SeenUses>
  /** The same, once one of these transactions is mined; until then only the latest block, and cheap. */
  usesIfMined(keys: readonly AuthKey[], fromHeight: number, hashes: readonly Hex[]): Promise<Glance>
  /**
   * How long it takes until a block above this number is likely to be seen. Undefined: perhaps no time at all, and to
   * ask costs little.
   */
  untilBlockAboveMs?(number: number): number | undefined
  /** Plain transfers in one transaction; undefined while it is in no canonical block up to `at`. */
  transfers(txHash: Hex): Promise<{ at: Block; found: TransferTx | undefined }>
  /** Which of these transactions are in a canonical block. */
  mined(hashes: readonly Hex[]): Promise<MinedTx[]>
  submit(raw: Hex): Promise<Submitted>
  wallet(address: Address): Promise<WalletState>
}

/** Signs what a wallet sends; keys never leave it. Deterministic: the same input gives the same transaction. */
export interface TxSigner {
  readonly address: Address
  sign(tx: {
    nonce: number
    calls: readonly SignedAuthorization[]
    maxFeePerGas: bigint
    maxPriorityFeePerGas: bigint
    gas: number
  }): Promise<{ raw: Hex; hash: Hex }>
}

/** Signs refunds: an EIP-3009 authorization from the seller's wallet to the buyer. */
export interface RefundSigner {
  readonly address: Address
  /** Computed from the receipt's key alone: a second refund of one receipt is then impossible on chain. */
  nonceOf(receiptKey: string): Hex
  sign(auth: Authorization): Promise<Hex>
}

export interface Signatures {
  /**
   * Is this signature the payer's? `contract`: the payer's code says so (EIP-1271). `unwrapped`: the same, and this is the
   * signature that the token takes in place of the wrapper around it (EIP-6492).
   */
  check(auth: SignedAuthorization): Promise<'eoa' | 'contract' | { unwrapped: Hex } | { invalid: string }>
  /** Did this account sign this text (EIP-191)? */
  signed(address: Address, text: string, signature: Hex): Promise<boolean>
}

export type FacilitatorAnswer =
  | { kind: 'hint'; txHash?: Hex }
  | { kind: 'refused'; reason: string }
  /** `declined`: it said no, in words that do not prove that nothing was sent. */
  | { kind: 'unknown'; reason: string; declined?: true }

export interface Facilitator {
  settle(auth: SignedAuthorization): Promise<FacilitatorAnswer>
}

// ── Settlement ──────────────────────────────────────────────────────────────────────────────────────────

export interface Parcelable {
  key: string
  auth: SignedAuthorization
  alone: boolean
  /** The gas limit of one that goes alone. */
  gas?: number
  packLimit: number | null
}

export type Sent =
  | { kind: 'sent' }
  | { kind: 'refused'; reason: string }
  /** `declined`: the words of a no that proves nothing. */
  | { kind: 'unknown'; declined?: string }

/** Authorizations that go out together. `puts` are stored in the same step that marks the members BROADCAST. */
export interface Parcel {
  members: string[]
  puts: Put[]
  walletTx: string | null
  /** Called only after that step committed. Its answer is a hint; the chain decides. */
  send(): Promise<Sent>
  /** That step was refused, or will not be made: what was set aside for it is free again. */
  drop(): void
}

/** How authorizations reach the chain: the seller's gas wallets, or a facilitator. */
export interface Settlement {
  /** How many payments one transaction can carry at most. */
  readonly packs: number
  /** A wallet of ours that pays the gas; undefined where somebody else does. */
  readonly gasWallet?: Address | undefined
  /** Why nothing can be sent now (an empty gas wallet), or undefined. */
  unavailable(): Promise<string | undefined>
  pack(items: readonly Parcelable[]): Promise<Parcel[]>
  /** Keeps stored transactions moving: sends again, raises fees, fills nonce gaps, closes what is mined. */
  tend(): Promise<void>
}

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
  txHash: Hex
  clientAgentId: string | null
  /** Milliseconds; a credential's lifetime starts here, so that making it twice gives the same one. */
  paidAt: number
}

export type Delivered = { kind: 'delivered'; sealed: string } | { kind: 'failed'; reason: string }

/** Makes what was bought. Calls carry the challengeId as idempotency key and may be repeated. */
export interface Delivery {
  /** Made without leaving the process: PAID and DELIVERED are then one step. */
  readonly instant: boolean
  deliver(order: Order): Promise<Delivered>
  /** The buyer's copy of a sealed result. */
  open(order: Order, sealed: string): Promise<AccessGrant>
}

/** One exact call of a paid route, as it goes to the backend. Not stored: only its hash is. */
export interface RouteCall {
  method: string
  /** With query. */
  path: string
  headers: Record<string, string>
  body: Uint8Array | null
}

/** `ok`: a 2xx within every limit. Anything else leaves the challenge PAID, and the payment goes back. */
export type Called = RouteAnswer & ({ ok: true; sealed: string } | { ok: false; reason: string })

/** The seller's API behind paid routes. Called only inside a request that carries the payment, never by a job. */
export interface Backend {
  call(order: Order, call: RouteCall): Promise<Called>
  /** The stored answer of an earlier call; undefined when no key opens it. */
  open(order: Order, sealed: string): Promise<RouteAnswer | undefined>
}

/**
 * The seller's own code in place of an HTTP backend: answers one call of a route. It may be called again for the same
 * challengeId when an earlier try failed. `payment` is null on free routes.
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

/** A body that is no text and no bytes is sent as JSON. */
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
