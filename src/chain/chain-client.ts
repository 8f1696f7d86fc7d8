import type { Chain, Submitted, WalletState } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { createBlockClock } from './block-clock.ts'
import { encodeBalanceOf } from './erc20.ts'
import { readHead } from './final-block.ts'
import { createMinedSearch } from './find-mined.ts'
import { type ChainDomain, readDomain } from './read-domain.ts'
import { readWalletState } from './read-wallet.ts'
import { minedOf, readReceipts } from './receipts.ts'
import { onOneNode, type Rpc, type RpcState } from './rpc.ts'
import { type RpcSource, rpcOf } from './rpc-pool.ts'
import { readBig } from './rpc-values.ts'

/** The chain, with the parts that schemes use for their own calls. */
export interface ChainClient extends Chain {
  readonly network: Network
  readonly rpc: Rpc & RpcState
  readonly searchMined: ReturnType<typeof createMinedSearch>
  /** The state as it was read lately, or is read now. */
  lastWalletState(wallet: Address): Promise<WalletState>
  domain(): Promise<ChainDomain>
  balanceOf(account: Address): Promise<bigint>
}

/** A node that takes at least this long to answer is remote, and its calls may be counted. */
const FAR_MS = 20

/**
 * The chain over JSON-RPC, by one node or a pool of them. Rejects with UnavailableError whenever it cannot be asked,
 * or the answer makes no sense.
 *
 * @example
 * import { findNetwork } from '../protocol/networks.ts'
 *
 * const chain = createChainClient({ rpcUrl: 'http://127.0.0.1:8545', network: findNetwork('testnet')! })
 */
export function createChainClient({
  network,
  now = Date.now,
  ...source
}: RpcSource & { network: Network; now?: () => number }): ChainClient {
  const asset = network.token.address
  const rpc = rpcOf(source)
  const blocks = createBlockClock(() => rpc.isLimited() || rpc.roundTripMs() >= FAR_MS, network.blockMs, now)
  const searchMined = createMinedSearch(rpc, blocks, now)
  const lastStates = new Map<Address, WalletState>()

  async function walletState(address: Address): Promise<WalletState> {
    const state = await onOneNode(rpc, (node) => readWalletState(node, address, network.fees))
    lastStates.set(address, state)
    return state
  }

  return {
    network,
    rpc,
    searchMined,
    lastWalletState: async (wallet) => lastStates.get(wallet) ?? (await walletState(wallet)),
    untilBlockAboveMs: blocks.untilAboveMs,

    async head() {
      const askedAtMs = now()
      const head = await onOneNode(rpc, (node) => readHead(node, network.finalDepth))
      blocks.measure(head.latest, head.finalized)
      blocks.saw(head.latest, askedAtMs)
      return head
    },

    mined: async (hashes) => (await readReceipts(rpc, hashes)).map(minedOf),

    async submit(raw) {
      const answer = await rpc.attempt('eth_sendRawTransaction', [raw])
      if (answer.ok) searchMined.sent(answer.result)
      return answer.ok ? 'accepted' : submittedOf(answer.error.message)
    },

    wallet: walletState,

    async balanceOf(account) {
      const answer = await rpc.call('eth_call', [{ to: asset, data: encodeBalanceOf(account) }, 'latest'])
      return readBig(answer, 'token balance')
    },

    domain: () => onOneNode(rpc, (node) => readDomain(node, asset)),
  }
}

/** The meaning of a node's refusal of a raw transaction. Every node software has its own words. */
export function submittedOf(message: string): Submitted {
  if (/already ?known|already imported|already exists|known transaction/i.test(message)) return 'known'
  if (/nonce (is )?too low|old ?nonce|nonce has already been used/i.test(message)) return 'nonce-low'
  if (/underpriced|fee ?too ?low|less than block base fee|fee cap (less|below)/i.test(message))
    return 'underpriced'
  return 'unknown'
}
