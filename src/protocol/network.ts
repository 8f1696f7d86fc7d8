import type { Address } from './hex.ts'

/** The token that buyers pay with. */
export interface Token {
  address: Address
  symbol: string
  decimals: number
  /** Its EIP-712 domain. It differs per chain: one constant would break every mainnet signature. */
  domain: { name: string; version: string }
}

/** What a transaction may cost. In gwei: a billionth of the chain's own coin. */
export interface FeePolicy {
  /** The least tip that the chain's validators take. */
  minTipGwei: number
  /** The most that we pay per gas, base fee and tip together. Above it, transactions wait. */
  maxGwei: number
  /** The chain has no base fee (EIP-1559). */
  legacy: boolean
}

/** A chain, and the token on it that buyers pay with. */
export interface Network {
  /** CAIP-2 id, e.g. `eip155:84532`. */
  id: string
  chainId: number
  /** The word sellers use: `base-sepolia`. */
  word: string
  /** Other words for it: `testnet`. */
  aliases: readonly string[]
  /** As people call it: `Base Sepolia`. */
  name: string
  /** Its money is for tests only. */
  testnet: boolean
  token: Token
  /** The chain's own coin, which pays for gas. `usd` is a rough price of one. */
  native: { symbol: string; usd: number }
  /** In order of preference; at least one. */
  rpcUrls: readonly string[]
  /** The transaction hash is appended. */
  explorerTxUrl: string
  /** Null: none is known that settles here. */
  facilitatorUrl: string | null
  /** The usual time between two blocks. */
  blockMs: number
  /** A payment counts once it is this many blocks deep, its own block included. */
  confirmations: number
  /** A block this deep is final. Null: the chain's nodes say it themselves, with the tag `finalized`. */
  finalDepth: number | null
  fees: FeePolicy
  /** The most gas that one transaction may ask for, where the chain allows less than others do. */
  maxTxGas?: number
  /** How many blocks one question for logs may span; nodes that allow fewer are learned. */
  logRange: number
  /** Where test money is free: the token, and the coin that pays for gas. Absent: the money is real, or none is known. */
  faucets?: { token: string; gas: string }
}
