import {
  type Address,
  type Chain,
  type Client,
  createTestClient,
  defineChain,
  getAddress,
  type HttpTransport,
  http,
  type PublicActions,
  publicActions,
  type TestActions,
  type WalletActions,
  walletActions,
} from 'viem'
import { NETWORKS } from '../protocol/networks.ts'
import { waitForReceipt } from './wait-for-receipt.ts'

/** Where USDC lives on the networks that the gateway knows, by chain id. */
export const USDC_ADDRESSES: Readonly<Record<number, Address>> = Object.fromEntries(
  NETWORKS.map(({ chainId, token }) => [chainId, getAddress(token.address)]),
)

/** Where Multicall3 lives, on the local chain as on the real ones. */
export const MULTICALL3_ADDRESS = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** The chain for viem. Own definition: `viem/chains` would load every chain there is. */
export function defineDevChain(chainId: number, rpcUrl: string): Chain {
  const network = NETWORKS.find((known) => known.chainId === chainId)
  const { symbol } = network?.native ?? { symbol: 'ETH' }
  return defineChain({
    id: chainId,
    name: `${network?.name ?? `Chain ${chainId}`} (dev chain)`,
    nativeCurrency: { name: symbol, symbol, decimals: 18 },
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
export function createDevClient(chainId: number, rpcUrl: string): DevClient {
  return createTestClient({
    mode: 'anvil',
    chain: defineDevChain(chainId, rpcUrl),
    transport: http(rpcUrl, { retryCount: 0 }),
    pollingInterval: 15,
    cacheTime: 0,
  })
    .extend(publicActions)
    .extend(walletActions)
    .extend((client) => ({
      waitForTransactionReceipt: (query: Parameters<typeof waitForReceipt>[1]) =>
        waitForReceipt(client, query),
    })) as DevClient
}
