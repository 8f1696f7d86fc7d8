import type { Address } from './hex.ts'

/** The token that buyers pay with. */
export interface Token {
  address: Address
  symbol: string
  decimals: number
  /** Its EIP-712 domain. It differs per chain: one constant would break every mainnet signature. */
  domain: { name: string; version: string }
}

/** A chain, and the token on it that buyers pay with. */
export interface Network {
  /** CAIP-2 id, e.g. `eip155:84532`. */
  id: string
  chainId: number
  /** The word sellers use: `mainnet` or `testnet`. */
  word: string
  token: Token
  rpcUrl: string
  explorerTxUrl: string
  facilitatorUrl: string
}

/**
 * The networks that are known without being described.
 *
 * @example
 * const { token, rpcUrl } = NETWORKS.find(({ word }) => word === 'testnet')!
 */
export const NETWORKS: readonly Network[] = [
  {
    id: 'eip155:8453',
    chainId: 8453,
    word: 'mainnet',
    token: {
      address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
      symbol: 'USDC',
      decimals: 6,
      domain: { name: 'USD Coin', version: '2' },
    },
    rpcUrl: 'https://mainnet.base.org',
    explorerTxUrl: 'https://basescan.org/tx/',
    facilitatorUrl: 'https://api.cdp.coinbase.com/platform/v2/x402',
  },
  {
    id: 'eip155:84532',
    chainId: 84532,
    word: 'testnet',
    token: {
      address: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
      symbol: 'USDC',
      decimals: 6,
      domain: { name: 'USDC', version: '2' },
    },
    rpcUrl: 'https://sepolia.base.org',
    explorerTxUrl: 'https://sepolia.basescan.org/tx/',
    facilitatorUrl: 'https://x402.org/facilitator',
  },
]

/** Finds a network by word (`testnet`) or CAIP-2 id (`eip155:84532`). */
export function findNetwork(name: string): Network | undefined {
  return NETWORKS.find((network) => network.word === name || network.id === name)
}
