/**
 * A rail is one way to pay: a network, a token on it, and a scheme. The engine asks the rail of the challenge or
 * attempt that it works on; it has no network of its own. Every call may fail: a rejected promise means "unknown",
 * never "no".
 */
import type {
  BatchMember,
  Block,
  Claim,
  MinedTx,
  Signed,
  SignedFacts,
  SimResult,
  Tables,
  TransferTx,
  Use,
} from './facts.ts'
import type { Address, Hex } from './protocol/hex.ts'
import type { Network } from './protocol/network.ts'

export interface Rail {
  /** Its name in stored rows: see `railId`. */
  readonly id: string
  readonly network: Network
  /** The seller's address, which receives the money. */
  readonly payTo: Address
  /** A payment counts once it is this many blocks deep, its own block included. */
  readonly confirmations: number
  readonly scheme: Scheme
  readonly chain: Chain
  /** The chain said nothing when the gateway was built, so its start does not wait for it once more. */
  readonly isSilent?: boolean
  /** How payments reach the chain. */
  readonly settlement: Settlement
  /** What may send refunds, in order of preference. `settlement` maintains the transactions of all of them. */
  readonly refundSubmitters: readonly Settlement[]
  /** Metered rails: the wallets of ours that may settle. Their transactions prove no transfer of a buyer's own. */
  readonly settlers?: readonly Address[]
  /** The id of the rail that refunds its payments, on the same network. Absent: itself. */
  readonly refundsBy?: string
  /** Absent: refunds wait until the operator configures a refund wallet. */
  readonly refundSigner?: RefundSigner
  /** The plain transfers of one transaction; `found` is undefined if no canonical block up to `at` contains it. */
  transfers(txHash: Hex): Promise<{ at: Block; found: TransferTx | undefined }>
  /**
   * Did this account sign this text (EIP-191)? If its key did not, its code is asked (EIP-1271), unless `mayAskCode`
   * says no.
   */
  hasSigned(account: Address, text: string, signature: Hex, mayAskCode?: () => boolean): Promise<boolean>
}

// ── Scheme ──────────────────────────────────────────────────────────────────────────────────────────────

export interface FoundUses {
  at: Block
  found: Use[]
  mined: MinedTx[]
}

/** Without `uses`, none of our transactions is mined up to `at`. */
export interface FoundIfMined {
  at: Block
  uses?: FoundUses
}

/** What a signature promises, and how it becomes money, on one network and in one token. */
export interface Scheme<S extends Signed = Signed> {
  /** The name that buyers use, e.g. `exact`. */
  readonly name: string
  /** What its offers say beside the token's domain, while this wallet of ours pays for gas. */
  offerExtra?(wallet?: Address): Readonly<Record<string, string>>
  /** Present if payers sign a maximum, and the call decides how much of it is charged. */
  readonly metered?: {
    /** The payment as it is settled for this charge, in units of the token. */
    charged(signed: S, charge: string): S
    /**
     * The transaction that settled this payment for its charge, in canonical blocks from `fromHeight` up to `at`: for a
     * store that lost it. What it paid is decided by {@link uses}.
     */
    findSettlement?(signed: S, fromHeight: number): Promise<{ at: Block; txHash?: Hex }>
  }
  /** Reads the scheme's own part of a payment from JSON. The fault never repeats what was sent. */
  parse(payload: unknown): { signed: S; claims: Claim[] } | { fault: string }
  factsOf(signed: S): SignedFacts
  /** Are both the same payment, even if its signature came in two forms? */
  isSame(one: S, other: S): boolean
  /** Why its validity period does not fit this chain time (seconds): too little is left of it, or so much that its end would be waited for too long. */
  validityFault(signed: S, chainTime: number): string | undefined
  /**
   * Did the payer sign it? Returns the payment in the form in which it is sent. `byKey`: the payer's own key signed, so
   * that the payer is the same on every chain. `endless`: its validity ends later than the token can say, so that nobody
   * can have signed it, and it fails as one does whose validity is too long.
   */
  verify(signed: S): Promise<{ signed: S; byKey: boolean } | { invalid: string } | { endless: string }>
  /**
   * What would happen if these were sent in this order at the latest block. Payers with code are simulated as if
   * `sender` sent the transaction.
   */
  simulate(payments: readonly S[], sender?: Address): Promise<{ at: Block; results: SimResult[] }>
  /**
   * The uses of these keys in canonical blocks from `fromHeight` up to `at`, and which of these transactions of ours
   * are mined. If one is mined up to `at`, all its uses are in the answer.
   */
  uses(keys: readonly string[], fromHeight: number, hashes?: readonly Hex[]): Promise<FoundUses>
  /**
   * The same, but only if one of these transactions is mined. If none is, only the latest block is read, which is
   * cheap.
   */
  usesIfMined(keys: readonly string[], fromHeight: number, hashes: readonly Hex[]): Promise<FoundIfMined>
}

/** Signs refunds: a payment from the seller's wallet to the buyer. */
export interface RefundSigner {
  readonly address: Address
  /** Computed from the receipt's key alone, so that the token itself refuses a second refund of one receipt. */
  keyOf(receiptKey: string): string
  sign(
    refund: { receiptKey: string; recipient: Address; value: string },
    /** Seconds. */
    chainTime: number,
  ): Promise<Signed>
}

// ── Chain ───────────────────────────────────────────────────────────────────────────────────────────────

export type Submitted =
  | 'accepted'
  | 'known'
  | 'nonce-low'
  | 'underpriced'
  | 'unknown'
  /** The words of a node that does not take it, for a reason that is none of these. */
  | { refused: string }

export interface WalletState {
  /** Transactions mined so far: the next nonce the chain expects. */
  nonce: number
  balanceWei: bigint
  baseFeeWei: bigint
  priorityFeeWei: bigint
}

export interface Chain {
  head(): Promise<{ latest: Block; finalized: Block }>
  /**
   * How long until a block above this number is likely to be visible. Undefined: not known, and asking the node costs
   * little.
   */
  untilBlockAboveMs?(number: number): number | undefined
  /** Which of these transactions are in a canonical block. */
  mined(hashes: readonly Hex[]): Promise<MinedTx[]>
  submit(raw: Hex): Promise<Submitted>
  /**
   * The same, but if the node can (EIP-7966), its answer comes with the transaction's block, or when it waited for long
   * enough. `mined` is a hint: what is in a block is decided by looking at the chain. Absent: nodes cannot be asked so.
   */
  submitAndWait?(raw: Hex): Promise<Submitted | 'mined'>
  /** May an answer of {@link submitAndWait} come with the block, as far as is known? */
  awaitsBlocks?(): boolean
  wallet(address: Address): Promise<WalletState>
}

/**
 * Signs the transactions of one wallet; the key never leaves it. The same input always gives the same transaction.
 */
export interface TxSigner {
  readonly address: Address
  sign(tx: {
    nonce: number
    calls: readonly Signed[]
    maxFeePerGas: bigint
    maxPriorityFeePerGas: bigint
    gas: number
  }): Promise<{ raw: Hex; hash: Hex }>
}

export type FacilitatorAnswer =
  | { kind: 'hint'; txHash?: Hex }
  /** It says that it does not send the payment, and why. Should it arrive all the same, the chain shows it. */
  | { kind: 'refused'; reason: string }
  /** `declined`: it refused the request, in words that are no answer about the payment. */
  | { kind: 'unknown'; reason: string; declined?: true }

export interface Facilitator {
  settle(signed: Signed): Promise<FacilitatorAnswer>
}

// ── Settlement ──────────────────────────────────────────────────────────────────────────────────────────

/** A payment or refund that is ready to be sent. */
export interface Sendable {
  member: BatchMember
  signed: Signed
  /** It must not share a transaction. */
  alone: boolean
  /** The gas limit of one that goes alone. */
  gas?: number
  /** Only this wallet may send it. Absent: any. */
  sender?: Address
  batchLimit: number | null
}

export type Sent =
  /** `mined`: a node says that it is in a block by now. */
  | { kind: 'sent'; mined?: true }
  /** A payment ends with it, and is watched in case it lands after all. A refund never does: it is sent again, by the first that can. */
  | { kind: 'refused'; reason: string }
  /** `declined`: the words of a refusal of the request, which says nothing about the payment. */
  | { kind: 'unknown'; declined?: string }

/** Payments that go out together. `puts` are stored in the same step that marks the members BROADCAST. */
export interface Batch {
  /** Keys of its members. */
  keys: string[]
  puts: Array<{ table: 'walletTxs'; row: Tables['walletTxs'] }>
  walletTx: string | null
  /**
   * Called only after that step is committed. Its answer is a hint; the chain decides. If it may wait, the answer comes
   * with the block where the chain can do that.
   */
  send(mayWait?: boolean): Promise<Sent>
  /** If it may wait, its answer comes with the block, as far as is known. */
  awaitsBlock?(): boolean
  /** Called when that step was refused or will not be made. Frees what was reserved for it. */
  drop(): void
}

/** How signed payments reach the chain: by the seller's gas wallets, or by a facilitator. */
export interface Settlement {
  /** How many payments one transaction can carry at most. */
  readonly batchSize: number
  /** The wallet of ours that pays the gas; undefined where a facilitator pays it. */
  readonly gasWallet?: Address | undefined
  /** The first of our wallets that can pay for gas, as far as is known; with none, the first. Absent: a facilitator pays it. */
  fundedWallet?(): Address | undefined
  /** Why nothing can be sent now (an empty gas wallet), or undefined. With a sender: why that wallet can send nothing. */
  unavailable(sender?: Address): Promise<string | undefined>
  /** What a transaction that is sent now pays per gas. Absent where somebody else pays the gas. */
  gasPriceWei?(): Promise<bigint>
  makeBatches(items: readonly Sendable[]): Promise<Batch[]>
  /**
   * Works on stored transactions until they are mined: sends them again, raises fees, fills nonce gaps, closes what
   * is mined. `due`: open transactions of this chain whose dueAt has passed.
   */
  maintain(due: ReadonlyArray<Tables['walletTxs']>): Promise<void>
}
