import {
  type Chain,
  type Client,
  createTestClient,
  defineChain,
  type HttpTransport,
  http,
  type PublicActions,
  publicActions,
  type TestActions,
  type WalletActions,
  walletActions,
} from 'viem'

/** Where USDC lives on the networks that the gateway knows. */
export const USDC_ADDRESSES = {
  8453: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  84532: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
} as const

/** Where Multicall3 lives, on the local chain as on the real ones. */
export const MULTICALL3_ADDRESS = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** The chains whose id a local chain can have: Base and Base Sepolia. */
export type DevChainId = keyof typeof USDC_ADDRESSES

/** The chain for viem. Own definition: `viem/chains` would load every chain there is. */
export function defineDevChain(chainId: DevChainId, rpcUrl: string): Chain {
  return defineChain({
    id: chainId,
    name: chainId === 8453 ? 'Base (dev chain)' : 'Base Sepolia (dev chain)',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
    contracts: { multicall3: { address: MULTICALL3_ADDRESS } },
  })
}

/** viem's test, public and wallet actions on one client. */
export type DevClient = Client<
  HttpTransport,
  Chain,
  undefined,
  undefined,
  TestActions & PublicActions<HttpTransport, Chain> & WalletActions<Chain>
>

/** A client that polls fast enough for tests. */
export function createDevClient(chainId: DevChainId, rpcUrl: string): DevClient {
  return createTestClient({
    mode: 'anvil',
    chain: defineDevChain(chainId, rpcUrl),
    transport: http(rpcUrl, { retryCount: 0 }),
    pollingInterval: 15,
    cacheTime: 0,
  })
    .extend(publicActions)
    .extend(walletActions)
}
