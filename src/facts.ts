/** The stored rows. Types only; every layer may import them. */
import type { BookRow } from './book-facts.ts'
import type { Signed } from './chain-facts.ts'
import type { CallRow, CreditRow } from './credit-facts.ts'
import type { ChallengeState } from './protocol/access.ts'
import type { ErrorCode } from './protocol/error-codes.ts'
import type { Address, Hex } from './protocol/hex.ts'
import type { RowBase } from './row-base.ts'
import type { WebhookRow } from './webhook-facts.ts'

export type * from './book-facts.ts'
export type * from './chain-facts.ts'
export type * from './credit-facts.ts'
export type * from './row-base.ts'
export type * from './webhook-facts.ts'

// ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────

/** The ways in which buyers reach a gateway. */
export type Transport = 'http' | 'a2a' | 'mcp'

/** One exact call: the only thing that the buyer's payment covers. */
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

/** A payment that was refused before anything was sent, with the message that its buyer got. */
export interface RefusedPayment {
  /** The key that the row of its authorization has, or would have. */
  key: string
  payer: Address
  code: ErrorCode
  said: string
}

/** key = challengeId */
export interface ChallengeRow extends RowBase {
  requestId: string
  /** The requestId under which it was offered, where the claim gave it another one. */
  offeredRequestId?: string
  /** Earlier requestIds of this challenge, given by payments that failed; each still leads to it. */
  earlierNames?: string[]
  /** A2A: the last payments that were refused before anything was sent, with the messages that their buyers got. */
  refused?: RefusedPayment[]
  transport: Transport
  kind: 'plan' | 'route'
  /** planId or routeId. */
  itemId: string
  resourceId: string
  /** Method and path with query of a route call; its body only as part of the fingerprint. */
  resource: { method: string; path: string } | null
  fingerprint: string
  /** Micro-dollars. */
  amount: string
  /** Metered calls: what was charged, in micro-dollars; `amount` is the most that it could be. */
  charged?: string
  /** The same in units of the token. */
  chargedUnits?: string
  /** Plans: the credits that were offered with the price. Absent, in rows of earlier versions: those that the plan grants now. */
  credits?: number
  /** The rail that it is paid on. Until a payment is claimed: the preferred one at the time of the offer. */
  rail: string
  /** The rail on which it was opened, if a payment was claimed on another one since. */
  offeredRail?: string
  /** CAIP-2 id of the network of `rail`. */
  network: string
  asset: Address
  payTo: Address
  clientAgentId: string | null
  state: ChallengeState
  createdAt: number
  expiresAt: number
  /** A payment was claimed for it at some time: such a record is never deleted. */
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
  /** Null of a metered call that cost nothing. */
  txHash: Hex | null
  paidAt: number | null
  /** The payer's own key signed the payment. Absent: code agreed to it, or it was a plain transfer. */
  paidByKey?: true
  /** Until when one instance alone may deliver. */
  leaseUntil: number | null
  deliveryTries: number
  failure: string | null
  /** The sealed result: safe at rest, opened by the delivery that made it. */
  result: string | null
  refundTxHash: Hex | null
  /** Where the call was made, if that is not below the gateway's base URL. */
  url?: string
  /** The receipt of the delivery, signed (JWS). Stored in the step that makes DELIVERED; absent in rows of earlier versions. */
  signedReceipt?: string
  /** The receipt of the refund, signed (JWS). Stored in the step that makes REFUNDED. */
  signedRefund?: string
  /** When retention removed the result; the record of the sale stays. */
  prunedAt?: number
  /** Plans: when the access ends (ms) whose credential retention removed. Absent where that is not known, and in rows of earlier versions. */
  accessEndsAt?: number
}

/** key = requestId. Points to the newest challenge of that request. */
export interface RequestRow extends RowBase {
  challengeId: string
}

/**
 * CHARGED: of a metered call; it was answered, and answer and charge are stored, but nothing was sent yet.
 * RELEASED: was claimed and certainly never sent; the engine treats it like an absent row. The row stays for a while,
 * because a row that is removed and inserted again starts at version 1, and a process that still holds the old row
 * could overwrite the new one.
 */
export type AttemptPhase =
  | 'CLAIMED'
  | 'CHARGED'
  | 'BROADCAST'
  | 'CONFIRMED'
  | 'ABANDONED'
  | 'DEAD'
  | 'RELEASED'

/** What the log says of a claim. */
export interface ClaimFacts {
  requestId: string
  at: number
  openedAt: number
  /** Absent: the buyer named none. */
  clientAgentId?: string
}

/** key = that of the signed payment. The insert is the claim: of two settlements racing on one nonce exactly one wins. */
export interface AuthorizationRow extends RowBase {
  challengeId: string
  rail: string
  auth: Signed
  payer: Address
  /** In units of the token. */
  value: string
  saltHash: string | null
  /**
   * Facts of the claim for the log. The log entry is written once something is sent, so that a claim which is
   * released leaves no entry.
   */
  claim?: ClaimFacts
  phase: AttemptPhase
  /** The payer's own key signed it. Absent: the code of a wallet agreed to it. */
  byKey?: true
  /** A height that was final when the chain was looked at: a use of this payment can only be above it. 0: not known. */
  fromHeight: number
  walletTx: string | null
  /** Metered calls: the wallet transactions that carried it before. */
  earlierTxs?: string[]
  /** Metered calls: a transaction that settled it, found on the chain because the store had lost it. */
  foundTx?: Hex
  sends: number
  /** The most payments that may share its transaction; halved after a whole batch reverted. */
  batchLimit: number | null
  reason: string | null
  /** The hold that its challenge takes in its payer's budget for undelivered calls. */
  undelivered?: string
  /** Metered calls: the sealed answer, from the step that stores the charge until the payment is decided. */
  answer?: string
  /** Metered calls: the hold that counts what it may cost among what its payer may owe us at once. */
  exposure?: string
  /** Metered calls whose answer goes out before it is paid: the holds that count it among such answers until it is. */
  streamed?: string[]
  /** The holds that it takes in the budgets for lost gas: its payer's, and the one of all payers. */
  gasHolds?: string[]
}

/**
 * How a receipt's money arrived: by a signed payment that was settled, or by a plain transfer that the buyer made
 * without us. `ordinal`: it is the n-th transfer to the seller in its transaction. `to`: the seller's address then;
 * absent in rows of earlier versions.
 */
export type ReceiptSource = { kind: 'payment' } | { kind: 'transfer'; ordinal: number; to?: Address }

/** key = the signed payment's key, or chainId:txHash:plain-N for the N-th plain transfer to the seller in a transaction. */
export interface ReceiptRow extends RowBase {
  challengeId: string
  rail: string
  source: ReceiptSource
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
  /** Plain transfers: since when (ms) no look has found it where it should be, and the last of them. Absent: it was found. */
  missedAt?: number
  lastMissedAt?: number
}

/**
 * key = chainId:txHash:logIndex, or the receipt's key for a plain transfer. One transfer on chain serves one receipt,
 * or proves one refund.
 */
export interface SeenRow extends RowBase {
  receipt: string
}

/**
 * key = the budget and a random text; ref = the budget, for one day. An amount that may be lost is held before it is
 * risked, so that no number of requests at once exceeds the budget. Afterwards the hold is returned, or counts as
 * spent until the day is over.
 */
export interface HoldRow extends RowBase {
  /** What it was taken for: the key of a challenge, or of an authorization. */
  subject: string
  amount: number
  spent: boolean
}

/** The progress of a refund. VOID: there was nothing to pay back after all. */
export type RefundPhase = 'WAITING' | 'BROADCAST' | 'DONE' | 'FAILED' | 'VOID'

/** key = the receipt's key: at most one refund per receipt. */
export interface RefundRow extends RowBase {
  challengeId: string
  rail: string
  /** This refund changes the challenge's own state: it returns the payment itself, not a surplus or unspent credits. */
  movesState: boolean
  recipient: Address
  value: string
  /** The refund as it was last signed; a new signature keeps wallet, nonce, recipient and value. */
  auth: Signed | null
  phase: RefundPhase
  attempts: number
  fromHeight: number
  walletTx: string | null
  txHash: Hex | null
  reason: string | null
  /** The reason with which a facilitator refused to send it; the operator got an alert. */
  refusal?: string | null
}

/** One payment or refund in a wallet's transaction, by the key of its row. */
export interface BatchMember {
  kind: 'payment' | 'refund'
  key: string
}

/** key = chainId:wallet:evmNonce, zero-padded. The insert allocates the nonce. */
export interface WalletTxRow extends RowBase {
  chainId: number
  wallet: Address
  nonce: number
  calls: Signed[]
  /** The payments and refunds in it, in the order of `calls`. */
  members: BatchMember[]
  maxFeePerGas: string
  maxPriorityFeePerGas: string
  gas: number
  raw: Hex
  /** Every hash that was ever sent under this nonce: any of them may be mined. */
  hashes: Hex[]
  phase: 'SENT' | 'MINED' | 'REPLACED'
  createdAt: number
}

/** key = event:challengeId. A call of the seller's hook that is still to be made; removed once the hook has returned. */
export interface OutboxRow extends RowBase {
  challengeId: string
  event: 'payment-received' | 'refunded'
}

/** key = challengeId; ref = the account: see `accountOf`. What one purchase of a plan granted; counts while it is DELIVERED. */
export interface LotRow extends RowBase {
  /** CAIP-2 id of where it was paid: a wallet with code is the same wallet only there. */
  network: string
  /** When the access ends (ms); null: never, or not known. */
  expiresAt: number | null
}

/** key = `sign-in/<account>/<nonce>` of a proof that was used, or `lots-indexed`: how far the log was read for lots. */
export interface MarkRow extends RowBase {
  value: number
}

/** The tables of a store, each with the kind of row that it keeps. */
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
  lots: LotRow
  marks: MarkRow
  credits: CreditRow
  calls: CallRow
  webhooks: WebhookRow
  books: BookRow
}
/** The name of one of a store's tables. */
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
