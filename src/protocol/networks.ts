import type { Network } from './network.ts'

type Differing = Pick<
  Network,
  'chainId' | 'word' | 'name' | 'testnet' | 'rpcUrls' | 'explorerTxUrl' | 'blockMs' | 'native' | 'fees'
> & { usdc: Network['token']['address']; domainName: string } & Partial<
    Pick<Network, 'aliases' | 'facilitatorUrl' | 'logRange' | 'maxTxGas' | 'faucets'>
  >

/** USDC of Circle, which has six decimals and domain version 2 everywhere; its domain name differs. */
function usdcOn({ usdc, domainName, chainId, ...own }: Differing): Network {
  return {
    aliases: [],
    facilitatorUrl: null,
    confirmations: 1,
    finalDepth: null,
    logRange: 10_000,
    ...own,
    id: `eip155:${chainId}`,
    chainId,
    token: {
      address: usdc,
      symbol: 'USDC',
      decimals: 6,
      domain: { name: domainName, version: '2' },
    },
  }
}

/** ETH on a rollup: cheap, and with a base fee that seldom moves. */
const ROLLUP_FEES = { minTipGwei: 0, maxGwei: 5, legacy: false }
const ETH = { symbol: 'ETH', usd: 3000 }
/** Test coins cost nothing. A nominal price lets a seller see what a dear chain does to small prices. */
const TEST_USD = 1
const TEST_ETH = { symbol: 'ETH', usd: TEST_USD }

/** Circle gives test USDC on every test network; each chain has its own for coins. */
const faucets = (gas: string) => ({ token: 'https://faucet.circle.com', gas })

/**
 * The networks that are known without being described. Prices of coins are rough: they decide whether
 * a small price carries the gas of its settlement, and sellers can give their own.
 */
export const NETWORKS: readonly Network[] = [
  usdcOn({
    chainId: 8453,
    word: 'base',
    aliases: ['mainnet'],
    name: 'Base',
    testnet: false,
    usdc: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    domainName: 'USD Coin',
    native: ETH,
    rpcUrls: ['https://mainnet.base.org'],
    explorerTxUrl: 'https://basescan.org/tx/',
    facilitatorUrl: 'https://api.cdp.coinbase.com/platform/v2/x402',
    blockMs: 200,
    fees: ROLLUP_FEES,
  }),
  usdcOn({
    chainId: 84532,
    word: 'base-sepolia',
    aliases: ['testnet'],
    name: 'Base Sepolia',
    testnet: true,
    usdc: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    domainName: 'USDC',
    native: TEST_ETH,
    rpcUrls: ['https://sepolia.base.org'],
    explorerTxUrl: 'https://sepolia.basescan.org/tx/',
    facilitatorUrl: 'https://x402.org/facilitator',
    blockMs: 200,
    fees: ROLLUP_FEES,
    faucets: faucets('https://docs.base.org/base-chain/network-information/network-faucets'),
  }),
  usdcOn({
    chainId: 1,
    word: 'ethereum',
    name: 'Ethereum',
    testnet: false,
    usdc: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
    domainName: 'USD Coin',
    native: ETH,
    rpcUrls: ['https://ethereum.reth.rs/rpc', 'https://ethereum-rpc.publicnode.com'],
    explorerTxUrl: 'https://etherscan.io/tx/',
    blockMs: 12_000,
    fees: { minTipGwei: 0.05, maxGwei: 100, legacy: false },
  }),
  usdcOn({
    chainId: 137,
    word: 'polygon',
    name: 'Polygon',
    testnet: false,
    usdc: '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359',
    domainName: 'USD Coin',
    native: { symbol: 'POL', usd: 0.5 },
    rpcUrls: ['https://polygon-rpc.com', 'https://polygon.drpc.org'],
    explorerTxUrl: 'https://polygonscan.com/tx/',
    blockMs: 2_000,
    fees: { minTipGwei: 25, maxGwei: 2_000, legacy: false },
    logRange: 2_000,
  }),
  usdcOn({
    chainId: 42161,
    word: 'arbitrum',
    name: 'Arbitrum One',
    testnet: false,
    usdc: '0xaf88d065e77c8cc2239327c5edb3a432268e5831',
    domainName: 'USD Coin',
    native: ETH,
    rpcUrls: ['https://arb1.arbitrum.io/rpc'],
    explorerTxUrl: 'https://arbiscan.io/tx/',
    blockMs: 250,
    fees: ROLLUP_FEES,
  }),
  usdcOn({
    chainId: 421614,
    word: 'arbitrum-sepolia',
    name: 'Arbitrum Sepolia',
    testnet: true,
    usdc: '0x75faf114eafb1bdbe2f0316df893fd58ce46aa4d',
    domainName: 'USD Coin',
    native: TEST_ETH,
    rpcUrls: ['https://sepolia-rollup.arbitrum.io/rpc'],
    explorerTxUrl: 'https://sepolia.arbiscan.io/tx/',
    blockMs: 250,
    fees: ROLLUP_FEES,
    faucets: faucets('https://www.alchemy.com/faucets/arbitrum-sepolia'),
  }),
  usdcOn({
    chainId: 43114,
    word: 'avalanche',
    name: 'Avalanche',
    testnet: false,
    usdc: '0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e',
    domainName: 'USD Coin',
    native: { symbol: 'AVAX', usd: 40 },
    rpcUrls: ['https://api.avax.network/ext/bc/C/rpc'],
    explorerTxUrl: 'https://snowtrace.io/tx/',
    blockMs: 1_700,
    fees: { minTipGwei: 0, maxGwei: 300, legacy: false },
    logRange: 2_000,
  }),
  usdcOn({
    chainId: 143,
    word: 'monad',
    name: 'Monad',
    testnet: false,
    usdc: '0x754704bc059f8c67012fed69bc8a327a5aafb603',
    domainName: 'USDC',
    native: { symbol: 'MON', usd: 0.1 },
    rpcUrls: ['https://rpc.monad.xyz', 'https://rpc1.monad.xyz'],
    explorerTxUrl: 'https://monadscan.com/tx/',
    blockMs: 400,
    fees: { minTipGwei: 0, maxGwei: 2_000, legacy: false },
    logRange: 100,
  }),
  usdcOn({
    chainId: 42220,
    word: 'celo',
    name: 'Celo',
    testnet: false,
    usdc: '0xceba9300f2b948710d2653dd7b07f33a8b32118c',
    domainName: 'USDC',
    native: { symbol: 'CELO', usd: 0.6 },
    rpcUrls: ['https://forno.celo.org'],
    explorerTxUrl: 'https://celoscan.io/tx/',
    blockMs: 1_000,
    fees: { minTipGwei: 0, maxGwei: 1_000, legacy: false },
  }),
  usdcOn({
    chainId: 11142220,
    word: 'celo-sepolia',
    name: 'Celo Sepolia',
    testnet: true,
    usdc: '0x01c5c0122039549ad1493b8220cabedd739bc44e',
    domainName: 'USDC',
    native: { symbol: 'CELO', usd: TEST_USD },
    rpcUrls: ['https://forno.celo-sepolia.celo-testnet.org'],
    explorerTxUrl: 'https://celo-sepolia.blockscout.com/tx/',
    blockMs: 1_000,
    fees: { minTipGwei: 0, maxGwei: 1_000, legacy: false },
    faucets: faucets('https://faucet.celo.org/celo-sepolia'),
  }),
  usdcOn({
    chainId: 1329,
    word: 'sei',
    name: 'Sei',
    testnet: false,
    usdc: '0xe15fc38f6d8c56af07bbcbe3baf5708a2bf42392',
    domainName: 'USDC',
    native: { symbol: 'SEI', usd: 0.5 },
    rpcUrls: ['https://evm-rpc.sei-apis.com'],
    explorerTxUrl: 'https://seiscan.io/tx/',
    blockMs: 400,
    fees: { minTipGwei: 0, maxGwei: 500, legacy: false },
    maxTxGas: 10_000_000,
    logRange: 2_000,
  }),
  usdcOn({
    chainId: 1328,
    word: 'sei-testnet',
    name: 'Sei testnet',
    testnet: true,
    usdc: '0x4fcf1784b31630811181f670aea7a7bef803eaed',
    domainName: 'USDC',
    native: { symbol: 'SEI', usd: TEST_USD },
    rpcUrls: ['https://evm-rpc-testnet.sei-apis.com'],
    explorerTxUrl: 'https://testnet.seiscan.io/tx/',
    blockMs: 400,
    fees: { minTipGwei: 0, maxGwei: 500, legacy: false },
    maxTxGas: 10_000_000,
    logRange: 2_000,
    faucets: faucets('https://docs.sei.io/learn/faucet'),
  }),
]

/**
 * Finds a network by word (`base-sepolia`), alias (`testnet`) or CAIP-2 id (`eip155:84532`).
 *
 * @example
 * const { token, rpcUrls } = findNetwork('testnet')!
 */
export function findNetwork(name: string, among: readonly Network[] = NETWORKS): Network | undefined {
  return among.find(({ word, aliases, id }) => word === name || id === name || aliases.includes(name))
}
