import type { Chain, Submitted, WalletState } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { createBlockClock } from './block-clock.ts'
import { encodeBalanceOf } from './erc20.ts'
import { readHead } from './final-block.ts'
import { createMinedSearch } from './find-mined.ts'
import { type ChainDomain, readDomain } from './read-domain.ts'
import { readWalletState } from './read-wallet.ts'
import { minedOf, readReceipts } from './receipts.ts'
import { onOneNode, printable, type Rpc, type RpcState } from './rpc.ts'
import { type RpcSource, rpcOf } from './rpc-pool.ts'
import { readBig } from './rpc-values.ts'
import { submittedOf } from './submitted.ts'

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
/** Waiting for a block holds a connection: it is done where blocks come at least this often, and not for much longer. */
const SLOWEST_AWAITED_MS = 3_000
const BESIDE_BLOCK_MS = 1_000

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
  const sendAndWait = network.blockMs <= SLOWEST_AWAITED_MS ? rpc.sendAndWait : undefined

  async function walletState(address: Address): Promise<WalletState> {
    const state = await onOneNode(rpc, (node) => readWalletState(node, address, network.fees))
    lastStates.set(address, state)
    return state
  }

  async function submit(raw: Hex): Promise<Submitted> {
    const answer = await rpc.attempt('eth_sendRawTransaction', [raw])
    if (answer.ok) searchMined.sent(answer.result)
    if (answer.ok) return 'accepted'
    const submitted = submittedOf(answer.error.message)
    return submitted === 'unknown' ? { refused: printable(answer.error.message) } : submitted
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

    submit,

    async submitAndWait(raw) {
      const sent = await sendAndWait?.send(raw, network.blockMs + BESIDE_BLOCK_MS)
      if (sent === undefined) return submit(raw)
      if (sent.is === 'mined') searchMined.reported(sent.hash)
      return sent.is
    },

    awaitsBlocks: () => sendAndWait?.isAsked() ?? false,

    wallet: walletState,

    async balanceOf(account) {
      const answer = await rpc.call('eth_call', [{ to: asset, data: encodeBalanceOf(account) }, 'latest'])
      return readBig(answer, 'token balance')
    },

    domain: () => onOneNode(rpc, (node) => readDomain(node, asset)),
  }
}
