import type { GatewayError } from '../errors.ts'
import type {
  AuditEntry,
  AuthorizationRow,
  ChallengeRow,
  Claim,
  ReceiptRow,
  RefundRow,
  RouteCall,
  Signed,
  SignedReceipt,
  Transport,
} from '../ports.ts'
import type {
  AccessGrant,
  ChallengeStatus,
  Debit,
  RefundNotice,
  RouteAnswer,
  SvcPayment,
} from '../protocol/access.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import type { CreditBalance, Reservation, Spender } from './credits/spender.ts'
import type { EventsControl } from './events/events-api.ts'

export type { AnswerStream, Forwarded, HandlerAnswer, LetOut } from '../ports.ts'
export type { CreditBalance, Reservation, RouteCall, SignedReceipt, Spender }

/** The ids of an offer, as a buyer repeats them. */
export interface EchoedIds {
  planId?: string | undefined
  routeId?: string | undefined
  requestId?: string | undefined
  resourceId?: string | undefined
  challengeId?: string | undefined
}

/** A payment as the engine sees it, whatever dialect it came in. Only its syntax is checked. */
export interface Payment {
  /** The id of the rail that it is for. */
  rail: string
  signed: Signed
  /** From {@link SignedFacts} of `signed`. */
  key: string
  payer: Address
  signature: string
  /** What it says about the terms. These are compared with the challenge's terms and never replace them. */
  claims: readonly Claim[]
  echo: EchoedIds
  /** The price of the offer in micro-dollars, as the buyer repeats it. Used only if the challenge's id proves it. */
  echoedAmount?: string | undefined
  /**
   * The salt of the offer that the buyer got. It proves that the sender has seen that offer, and not only the public
   * calldata.
   */
  salt: string | null
  /**
   * The buyer's own name for this purchase. It becomes the requestId of a challenge that is not stored yet; if a
   * stored challenge has another requestId, it is refused.
   */
  paymentId?: string | undefined
}

/** A request as its transport understood it. Only the syntax of the ids is checked. */
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
  /** Embedded routes: where the call was made, as its 402 names it. */
  url?: string
  clientAgentId?: string
  /** The network address of the sender; used only to count requests against limits. */
  address?: string | undefined
  /** Absent: the buyer asks for terms. */
  payment?: Payment
  /**
   * Becomes the requestId if the challenge was not stored before this payment: MCP names requests after the payment's
   * signature.
   */
  claimRequestId?: string
  /** A plain transfer that the buyer made without us, instead of `payment`; needs `challengeId`. */
  proof?: TransferProof
}

/** A call of a route by somebody who holds credits. */
export interface PrepaidIntent {
  transport: Transport
  routeId: string
  call: RouteCall
  /** The seller's own handler answers; the engine only debits. */
  embedded?: boolean
  url?: string
  /** The buyer's name for the call: the same one is debited once. */
  idempotencyKey?: string | undefined
  /** Without `planId`: any plan that has credits. */
  spender: Omit<Spender, 'planId'> & { planId?: string | undefined }
}

/** `signature`: the sender's EIP-191 signature over `<challengeId>:<txHash>`. */
export interface TransferProof {
  txHash: Hex
  signature: Hex
  /** CAIP-2 id of the network that the transfer was made on; absent: the one that the challenge was opened on. */
  network?: string
}

/** What is needed to rebuild an offer that was not stored. */
export interface OfferedTerms extends Pick<Payment, 'echo' | 'echoedAmount'> {
  /** Routes: the call that it was offered for. */
  call?: Pick<RouteCall, 'method' | 'path' | 'body'>
}

/**
 * Everything that is stored of one challenge except its result. Nothing in it is a credential or can be used to pay.
 */
export interface Dossier {
  challenge: Omit<ChallengeRow, 'result'>
  /** Every payment that was ever claimed for it. */
  attempts: Array<
    Pick<AuthorizationRow, 'key' | 'rail' | 'phase' | 'reason' | 'sends' | 'payer' | 'value' | 'walletTx'>
  >
  receipts: ReceiptRow[]
  refunds: Array<Omit<RefundRow, 'auth'>>
  audit: Array<AuditEntry & { seq: number }>
}

/** One way to pay an offer. */
export interface OfferedRail {
  /** The id of the rail. */
  id: string
  network: Network
  /** As buyers know it, e.g. `exact`. */
  scheme: string
  /** What its offers say beside the token's domain. */
  extra?: Readonly<Record<string, string>>
  /** In units of the token. */
  amount: string
  payTo: Address
}

/** Terms that a buyer may accept by paying. A dialect puts them into its wire format. */
export interface Offer {
  challengeId: string
  requestId: string
  kind: 'plan' | 'route'
  itemId: string
  resourceId: string
  resource: { method: string; path: string } | null
  /** Where the call was made, if that is not below the gateway's base URL. */
  url?: string
  description: string
  /** In the seller's order. */
  rails: readonly OfferedRail[]
  /** Fresh in every offer. */
  salt: string
  /** When the challenge expires (ms). */
  expiresAt: number
  /** The message to the buyer that goes with the terms. */
  message: string
}

/** The result of a payment: its transaction, or why no money moved. */
export interface SettledPayment {
  network: string
  payer?: Address
  /** Empty if a metered call cost nothing. */
  txHash?: string
  /** What was charged of a metered call, in units of the token. */
  amount?: string
  /** When the payment was confirmed (ms). */
  paidAt?: number
  /** The signed receipt of what was delivered (JWS). */
  receipt?: string
  failure?: string
}

/** The result of an intent; a transport renders it and decides nothing. */
export type Outcome =
  | { kind: 'challenge'; offer: Offer }
  | { kind: 'granted'; grant: AccessGrant; settled: SettledPayment; cached: boolean }
  | ({ kind: 'resource'; settled: SettledPayment; cached: boolean } & RouteAnswer)
  /** Embedded routes: the seller's handler runs next. `notice` goes to the buyer if the handler fails. */
  | {
      kind: 'paid'
      payment: SvcPayment
      settled: SettledPayment
      lease: number
      notice: RefundNotice
      /** Signs the receipt for an answer that is a delivery; `finish` then stores the same one. Absent: none is signed. */
      signReceipt?: () => SignedReceipt | undefined
    }
  | { kind: 'failed'; error: GatewayError; offer?: Offer; settled?: SettledPayment }

/** The result of a prepaid call. */
export type PrepaidOutcome =
  /** A call that was debited. `failure`: why it was not answered well, and so not debited. */
  | ({ kind: 'prepaid'; debit: Debit; failure?: string; cached: boolean } & RouteAnswer)
  /** Embedded routes: the seller's handler runs next; it is debited by `finishPrepaid`. */
  | { kind: 'reserved'; reservation: Reservation; debit: Debit; payment: SvcPayment }
  | Extract<Outcome, { kind: 'failed' }>

/** A purchase of credits that the operator closes, as it stands. */
export interface ClosedCredits {
  challengeId: string
  /** `closing`: calls are under way. Once they have ended it is closed automatically. */
  status: 'closing' | 'closed'
  granted: number
  spent: number
  /** For calls that are under way. */
  reserved: number
  /** What goes back to the payer; null: it is not closed yet, or nothing was left. */
  refund: {
    recipient: Address
    /** In units of the token. */
    value: string
    /** CAIP-2. */
    network: string
    /** The address of the token. */
    asset: string
    phase: RefundRow['phase']
    txHash: Hex | null
  } | null
}

/** How the seller's own handler ended. `receipt`: the one that goes out with the answer. */
export type HandlerResult = { ok: true; receipt?: SignedReceipt | undefined } | { ok: false; reason: string }

/** What was bought: its credential, and the payment that bought it. */
export type Granted = Extract<Outcome, { kind: 'granted' }>

/**
 * What a wallet signed to prove itself. Its dialect has checked that it was signed for this gateway, for this endpoint
 * and a moment ago; who signed it is not checked yet.
 */
export interface WalletProof {
  /** In lower case. */
  account: Address
  /** CAIP-2 id of the network on which the account is asked, if it has code. */
  network: string
  text: string
  signature: Hex
  nonce: string
  /** From then on (ms) the dialect refuses it. */
  endsAt: number
}

/** A wallet that has proved itself. `network`: it has code, and is this wallet only there; null: its key signed. */
export interface Wallet {
  account: Address
  network: string | null
}

/** Access that a wallet may own. Without planId: of any plan in the catalog. */
export interface OwnedAccess {
  planId?: string | undefined
  /** Default: `default`. */
  resourceId?: string | undefined
}

/** A rail as it stands now. */
export interface RailState {
  id: string
  network: Network
  scheme: string
  /** Why it is left out of new offers, and since when (ms). Null while it can settle. */
  withdrawn: { reason: string; since: number } | null
  /** The least price, in micro-dollars, that carries the gas of settling on it now. The preferred rail takes every price. */
  leastAmount: string
}

/** One engine serves every transport. */
export interface Engine {
  /**
   * Terms for a request without payment or proof. Uses neither store nor chain, so it needs no promise. Undefined:
   * only `purchase` can answer.
   */
  offer(intent: Intent): Outcome | undefined
  /** Opens a challenge, or redeems the payment that the intent carries. Never throws for an expected failure. */
  purchase(intent: Intent): Promise<Outcome>
  /**
   * Embedded routes: the seller's handler has answered or failed. `lease` is that of the `paid` outcome. Rejects if
   * the answer must not be sent: the handler took so long that the payment was refunded. Returns the receipt that is
   * stored, if there is one.
   */
  finish(challengeId: string, lease: number, result: HandlerResult): Promise<string | undefined>
  /** Embedded routes: the handler is still running, so nobody else may deliver or refund. False: the lease is lost. */
  renew(challengeId: string, lease: number): Promise<boolean>
  /** Makes a prepaid call, or reserves its credits for the seller's handler. Never throws for an expected failure. */
  spend(intent: PrepaidIntent): Promise<PrepaidOutcome>
  /**
   * Embedded routes: the handler has answered or failed. Returns what is left; an error if the answer must not be sent.
   */
  finishPrepaid(reservation: Reservation, ok: boolean): Promise<{ remaining: number } | GatewayError>
  /** Embedded routes: the handler is still running. False: the credits were given back. */
  renewPrepaid(reservation: Reservation): Promise<boolean>
  /** What the spender's account has. An error: it has none, or the purchase of its token has ended. */
  balance(spender: Spender): Promise<CreditBalance | GatewayError>
  /** Whose wallet it is. Uses the proof up: the same one again is refused, on every instance. */
  signIn(proof: WalletProof): Promise<Wallet | GatewayError>
  /** The running access that this wallet bought; of several, what ends last. To who is `buying`, none whose credits are spent. */
  owned(wallet: Wallet, access: OwnedAccess, buying?: boolean): Promise<Granted | undefined>
  /** Why a purchase of credits has ended before its token expired; undefined: it has not. */
  whyEnded(challengeId: string): Promise<GatewayError | undefined>
  /** undefined: not an id of this gateway. */
  status(challengeId: string): Promise<ChallengeStatus | undefined>
  /** The terms of a stored challenge once more, with a new salt. */
  offerAgain(challenge: Dossier['challenge'], message: string): Offer
  /** undefined: nothing is stored under this id. */
  inspect(challengeId: string): Promise<Dossier | undefined>
  /** The status now and after each change, here or on another instance, until nothing more can change or `signal` aborts. */
  watch(challengeId: string, signal: AbortSignal): AsyncIterable<ChallengeStatus>
  /**
   * Only PENDING without a live attempt can be cancelled. A challenge that was offered but not stored is rebuilt from
   * the terms of its 402.
   */
  cancel(
    challengeId: string,
    actor: 'buyer' | 'operator',
    offered?: OfferedTerms,
  ): Promise<ChallengeStatus | GatewayError>
  /** REFUND_FAILED → REFUND_PENDING. Failed refunds of a surplus are also tried again. */
  retryRefund(challengeId: string): Promise<ChallengeStatus | GatewayError>
  /** REFUND_FAILED → REFUNDED, by a transaction that the operator made and the chain confirms. */
  proveRefund(challengeId: string, txHash: string): Promise<ChallengeStatus | GatewayError>
  /** Ends a purchase of credits; what is unspent goes back to its payer. Repeated, it tells how that stands. */
  closeCredits(challengeId: string): Promise<ClosedCredits | GatewayError>
  /** Every rail as it stands now, in the seller's order. Reads no chain. */
  rails(): readonly RailState[]
  /** Absent: no webhooks are configured. */
  readonly events?: EventsControl
  /** Rejects with the reason while the state of the chain does not allow any sale. */
  ready(): Promise<void>
  /** One pass over all work that is due: expire, resolve, deliver, refund. Safe on many instances at once. */
  runJobs(): Promise<void>
  /**
   * Resolves once the work that a crash left is picked up and, with several rails, each was looked at (or did not
   * answer within two seconds, and is not offered). The jobs then run until `stop`, which waits for what is in flight.
   */
  start(): Promise<void>
  stop(): Promise<void>
}
