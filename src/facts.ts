/** Plain facts: what is stored, and what the chain says. Types only; every layer may read them. */
import type { ChallengeState } from './protocol/access.ts'
import type { ErrorCode } from './protocol/error-codes.ts'
import type { Address, Hex } from './protocol/hex.ts'
import type { Authorization } from './protocol/payment.ts'

// ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────

/** Every row: plain JSON. Amounts are decimal strings as on the wire; heights and times are safe integers. */
export interface RowBase {
  key: string
  /** What was read; 0 means "not stored yet". A put succeeds only if the stored version is still this one. */
  version: number
  /** Groups rows for `list`: the challengeId, or the wallet of an open wallet transaction. */
  ref: string | null
  /** When a job must look at this row again; null once nothing is left to do. So nothing waits for ever. */
  dueAt: number | null
}

export type Transport = 'http' | 'a2a' | 'mcp'

/** One exact call: what the buyer pays for, and nothing beside it. */
export interface CalledResource {
  method: string
  /** With query. */
  path: string
  /** Empty without a body. */
  bodyHash: string
}

/** What is sold: one plan for one resource id, or one exact call of a route. */
export type Subject =
  | { kind: 'plan'; planId: string; resourceId: string }
  | { kind: 'route'; routeId: string; resourceId: string; resource: CalledResource }

export interface RefusedPayment {
  /** As of the authorization's row. */
  key: string
  payer: Address
  code: ErrorCode
  said: string
}

/** key = challengeId */
export interface ChallengeRow extends RowBase {
  requestId: string
  /** The requestId of the 402, where the record got another one at the claim. */
  askedAs?: string
  /** Names that it had before, from payments that came to nothing; each still leads here. */
  earlierNames?: string[]
  /** A2A: the last payments that were refused before anything was sent, in the words that their buyers were told. */
  refused?: RefusedPayment[]
  transport: Transport
  kind: 'plan' | 'route'
  /** planId or routeId. */
  itemId: string
  resourceId: string
  /** Method and path with query of a route call; its body only as part of the fingerprint. */
  resource: { method: string; path: string } | null
  fingerprint: string
  amount: string
  network: string
  asset: Address
  payTo: Address
  clientAgentId: string | null
  state: ChallengeState
  createdAt: number
  expiresAt: number
  /** A payment was claimed for it at some time: such a record is never swept. */
  claimed: boolean
  /** How many different authorizations were claimed for it so far. */
  tries?: number
  /** The hold that counts it as undelivered while it is in flight, and after a failure. */
  undelivered?: string
  /** The one authorization that may be in flight; PENDING does not expire while it is set. */
  liveAuth: string | null
  /** The receipt that paid it. */
  receipt: string | null
  payer: Address | null
  txHash: Hex | null
  paidAt: number | null
  /** Until when one instance alone may deliver. */
  leaseUntil: number | null
  deliveryTries: number
  failure: string | null
  /** The sealed result: safe at rest, opened by the delivery that made it. */
  result: string | null
  refundTxHash: Hex | null
  /** When retention took the result away; the sale itself is never forgotten. */
  prunedAt?: number
}

/** key = requestId. Points to the newest challenge of that request. */
export interface RequestRow extends RowBase {
  challengeId: string
}

/**
 * RELEASED: claimed once and certainly never sent; as good as absent. The row stays for a while, because a row that is
 * removed and inserted again starts at version 1, and a stale holder of the old one could write the new one.
 */
export type AttemptPhase = 'CLAIMED' | 'BROADCAST' | 'CONFIRMED' | 'ABANDONED' | 'DEAD' | 'RELEASED'

export interface SignedAuthorization extends Authorization {
  signature: Hex
}

/** key = chainId:asset:payer:nonce. The insert is the claim: of two settlements racing on one nonce exactly one wins. */
export interface AuthorizationRow extends RowBase {
  challengeId: string
  auth: SignedAuthorization
  saltHash: string | null
  /** Of the claim, for the log: it is written once something is sent, so that what comes to nothing leaves no trace. */
  claim?: { requestId: string; at: number; openedAt: number }
  phase: AttemptPhase
  /** A finalized height at the time of the look: a use of it can only be above. */
  fromHeight: number
  walletTx: string | null
  sends: number
  /** At most so many neighbours in one transaction; halves when a whole batch reverted. */
  packLimit: number | null
  reason: string | null
  /** The hold that its challenge takes in its payer's budget for undelivered calls. */
  undelivered?: string
  /** The holds that it takes in the budgets for lost gas: its payer's, and the one of all payers. */
  gasHolds?: string[]
}

/** key = the authorization's key, or chainId:txHash:plain-N for the N-th plain transfer to the seller in a transaction. */
export interface ReceiptRow extends RowBase {
  challengeId: string
  role: 'pays' | 'surplus'
  payer: Address
  value: string
  txHash: Hex
  logIndex: number
  blockNumber: number
  blockHash: Hex
  fromHeight: number
  finalized: boolean
  lost: boolean
}

/** key = chainId:txHash:logIndex. One on-chain transfer serves one receipt, or proves one refund. */
export interface SeenRow extends RowBase {
  receipt: string
}

/**
 * key = the budget and a random text; ref = the budget, for one day. What may be lost is held before it is risked,
 * so that no number of requests at once passes the budget; afterwards it is given back, or spent until the day is over.
 */
export interface HoldRow extends RowBase {
  /** What it was taken for: the key of a challenge, or of an authorization. */
  subject: string
  amount: number
  spent: boolean
}

export type RefundPhase = 'WAITING' | 'BROADCAST' | 'DONE' | 'FAILED' | 'VOID'

/** key = the receipt's key: at most one refund per receipt. */
export interface RefundRow extends RowBase {
  challengeId: string
  /** This refund moves the challenge's own state (it returns the payment, not a surplus). */
  movesState: boolean
  recipient: Address
  value: string
  /** The refund as signed last; a new signature keeps its wallet, nonce, recipient and value. */
  auth: SignedAuthorization | null
  phase: RefundPhase
  attempts: number
  fromHeight: number
  walletTx: string | null
  txHash: Hex | null
  reason: string | null
  /** What a facilitator said that would not send it: the operator was told. */
  refusal?: string | null
}

/** key = wallet:evmNonce, zero-padded. The insert allocates the nonce. */
export interface WalletTxRow extends RowBase {
  wallet: Address
  nonce: number
  calls: SignedAuthorization[]
  /** Keys of the authorizations or refunds that it carries, in the order of calls. */
  members: string[]
  maxFeePerGas: string
  maxPriorityFeePerGas: string
  gas: number
  raw: Hex
  /** Every hash that ever went out under this nonce: any of them may be mined. */
  hashes: Hex[]
  phase: 'SENT' | 'MINED' | 'REPLACED'
  createdAt: number
}

/** key = event:challengeId. The seller's hook has not been told yet; removed once it has returned. */
export interface OutboxRow extends RowBase {
  challengeId: string
  event: 'payment-received' | 'refunded'
}

export interface Tables {
  challenges: ChallengeRow
  requests: RequestRow
  authorizations: AuthorizationRow
  receipts: ReceiptRow
  seen: SeenRow
  refunds: RefundRow
  walletTxs: WalletTxRow
  outbox: OutboxRow
  holds: HoldRow
}
export type TableName = keyof Tables

/** One line of the append-only log. Never a token, a signature or a key. */
export interface AuditEntry {
  at: number
  challengeId: string
  requestId: string
  event: string
  fromState: ChallengeState | null
  toState: ChallengeState | null
  actor: 'buyer' | 'gateway' | 'operator'
  txHash?: string
  details?: Record<string, string | number | boolean | null>
}

// ── Chain ───────────────────────────────────────────────────────────────────────────────────────────────

export interface Block {
  number: number
  hash: Hex
  /** Seconds: chain time. */
  timestamp: number
}

export interface AuthKey {
  payer: Address
  nonce: Hex
}

export type SimResult =
  /**
   * `alone`: the payer has code (EIP-1271, EIP-7702) and could burn a batch's gas; `gas` is then a limit within which
   * the simulated call fits.
   */
  { kind: 'ok'; alone: boolean; gas?: number } | { kind: 'used' } | { kind: 'fails'; reason: string }

/** What became of an authorization on chain: the event, and the Transfer at the very next log index. */
export type Use =
  | {
      kind: 'transfer'
      key: AuthKey
      block: Block
      txHash: Hex
      /** Of the Transfer. */
      logIndex: number
      from: Address
      to: Address
      value: string
    }
  | { kind: 'canceled'; key: AuthKey; block: Block; txHash: Hex }

/** A transaction in a canonical block, with the token's transfers that no authorization caused. */
export interface TransferTx {
  txHash: Hex
  block: Block
  transfers: Array<{ logIndex: number; from: Address; to: Address; value: string }>
}

export interface MinedTx {
  hash: Hex
  success: boolean
  blockNumber: number
}
