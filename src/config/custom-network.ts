/** A network that is not known by a word, described by the seller. */
export interface CustomNetwork {
  /** CAIP-2 id: `eip155:` and the chain id. */
  id: string
  /** As people call it. Default: its word. */
  name?: string | undefined
  /** What `network` may call it besides its id. */
  word?: string | undefined
  /** Whether its money is for tests only. */
  testnet: boolean
  token: {
    address: string
    /** Default `USDC`. */
    symbol?: string | undefined
    decimals: number
    /** The EIP-712 domain of the token. */
    domain: { name: string; version: string }
  }
  /** In order of preference. `rpcUrl` may give a single one instead. */
  rpcUrls?: readonly string[] | undefined
  rpcUrl?: string | undefined
  /** The transaction hash is appended. */
  explorerTxUrl: string
  /** The chain's own coin and a rough price of one. Default: ETH. */
  native?: { symbol: string; usd: number } | undefined
  /** Default: none, so that a gas wallet is needed. */
  facilitatorUrl?: string | undefined
  /** The usual time between two blocks. Default 2000. */
  blockMs?: number | undefined
  /** Default 1. */
  confirmations?: number | undefined
  /** A block this deep is final. Default: the chain's nodes say it, with the tag `finalized`. */
  finalDepth?: number | undefined
  /** Default: no least tip, at most 1000 gwei, with a base fee. */
  fees?:
    | { minTipGwei?: number | undefined; maxGwei?: number | undefined; legacy?: boolean | undefined }
    | undefined
  /** The most gas that one transaction may ask for. Default 15 million. */
  maxTxGas?: number | undefined
  /** How many blocks one question for logs may span. Default 2000. */
  logRange?: number | undefined
}
