import type { Address } from './hex.ts'

/** What a gateway must know of a chain before it can ask for money there. */
export interface Network {
  /** CAIP-2 id, e.g. `eip155:84532`. */
  id: string
  chainId: number
  /** The word sellers use: `mainnet` or `testnet`. */
  word: string
  asset: Address
  /** EIP-712 domain of the token. It differs per chain: one constant would break every mainnet signature. */
  domain: { name: string; version: string }
  rpcUrl: string
  explorerTxUrl: string
  facilitatorUrl: string
}

export const NETWORKS: readonly Network[] = [
  {
    id: 'eip155:8453',
    chainId: 8453,
    word: 'mainnet',
    asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    domain: { name: 'USD Coin', version: '2' },
    rpcUrl: 'https://mainnet.base.org',
    explorerTxUrl: 'https://basescan.org/tx/',
    facilitatorUrl: 'https://api.cdp.coinbase.com/platform/v2/x402',
  },
  {
    id: 'eip155:84532',
    chainId: 84532,
    word: 'testnet',
    asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    domain: { name: 'USDC', version: '2' },
    rpcUrl: 'https://sepolia.base.org',
    explorerTxUrl: 'https://sepolia.basescan.org/tx/',
    facilitatorUrl: 'https://x402.org/facilitator',
  },
]

/** Finds a network by word (`testnet`) or CAIP-2 id (`eip155:84532`). */
export function findNetwork(name: string): Network | undefined {
  return NETWORKS.find((network) => network.word === name || network.id === name)
}
