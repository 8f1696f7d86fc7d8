/** What a signed payment says, and what the chain reports. Types only; part of `facts.ts`. */
import type { Address, Hex } from './protocol/hex.ts'

/** A signed payment as its scheme stores it. Only the scheme looks inside. */
export type Signed = Readonly<Record<string, unknown>>

/** Something that a payment says about itself, to be compared with the terms. `field` names it in messages. */
export interface Claim {
  about: 'amount' | 'payTo' | 'network' | 'asset' | 'scheme' | 'payer'
  field: string
  value: string
}

/** The facts of a signed payment that do not depend on its scheme. */
export interface SignedFacts {
  /** Under this key it can be used once, on any instance: chain, token, payer and nonce. */
  key: string
  payer: Address
  to: Address
  /** In units of the token. */
  amount: string
  /** Chain time in seconds: a block of this time or later cannot take it any more. */
  validBefore: string
  /** A retry repeats it, and nobody but the buyer has it before it is on the chain. */
  signature: string
  /** Only this wallet of ours may send it. Absent: any. */
  sender?: Address
}

/** The parts of a block that are used here. */
export interface Block {
  number: number
  hash: Hex
  /** Seconds: chain time. */
  timestamp: number
}

/** What the chain would do with a payment if it were sent now. */
export type SimResult =
  /**
   * `alone`: the payer has code (EIP-1271, EIP-7702) and could burn the gas of a whole batch, so it gets a
   * transaction of its own. `gas` is then a limit that the simulated call fits into. `sender`: only this wallet may
   * send it. `plain`: it gets a transaction of its own for another reason, and its payer has no code. `funds`: how
   * much of the payer's money the scheme could move now, in units of the token.
   */
  | { kind: 'ok'; alone: boolean; plain?: boolean; gas?: number; sender?: Address; funds?: string }
  | { kind: 'used' }
  | { kind: 'fails'; reason: string }

/** How a signed payment was used up on chain. `key` is the payment's. */
export type Use =
  | {
      kind: 'transfer'
      key: string
      block: Block
      txHash: Hex
      /** Of the token's Transfer. */
      logIndex: number
      from: Address
      to: Address
      value: string
    }
  | { kind: 'canceled'; key: string; block: Block; txHash: Hex }

/** A transaction in a canonical block, with those of its token transfers that were not caused by a signed payment. */
export interface TransferTx {
  txHash: Hex
  /** The account that sent the transaction. */
  sender: Address
  block: Block
  transfers: Array<{ logIndex: number; from: Address; to: Address; value: string }>
}

/** A transaction that is in a block. */
export interface MinedTx {
  hash: Hex
  success: boolean
  blockNumber: number
}
