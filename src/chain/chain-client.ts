import { UnavailableError } from '../errors.ts'
import type { Chain, Submitted, WalletState } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { createBlockClock } from './block-clock.ts'
import { encodeBalanceOf, NAME_CALL, VERSION_CALL } from './erc20.ts'
import { createMinedSearch } from './find-mined.ts'
import { minedOf, readReceipts } from './receipts.ts'
import { createRpc, type Rpc } from './rpc.ts'
import type { RpcPace } from './rpc-pace.ts'
import { readBig, readBlock, readHex, readNumber, readRecord } from './rpc-values.ts'

/** The token's domain as the chain reports it; compared with our table at boot. */
export interface ChainDomain {
  chainId: number
  name: string
  version: string
}

/** The chain, with the parts that schemes use for their own calls. */
export interface ChainClient extends Chain {
  readonly network: Network
  readonly rpc: Rpc
  readonly searchMined: ReturnType<typeof createMinedSearch>
  /** The state as it was read lately, or is read now. */
  lastWalletState(wallet: Address): Promise<WalletState>
  domain(): Promise<ChainDomain>
  balanceOf(account: Address): Promise<bigint>
}

/** Base's usual tip, for chains without `eth_maxPriorityFeePerGas`. */
const DEFAULT_PRIORITY_FEE_WEI = 1_000_000n
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/** A node that takes at least this long to answer is remote, and its calls may be counted. */
const FAR_MS = 20

/**
 * The chain through one JSON-RPC node. Rejects with UnavailableError whenever the node cannot be asked, or its
 * answer makes no sense.
 *
 * @example
 * import { findNetwork } from '../protocol/network.ts'
 *
 * const chain = createChainClient({ rpcUrl: 'http://127.0.0.1:8545', network: findNetwork('testnet')! })
 */
export function createChainClient({
  rpcUrl,
  network,
  timeoutMs = 10_000,
  pace,
}: {
  rpcUrl: string
  network: Network
  timeoutMs?: number
  /** Shared by all clients of the same node. */
  pace?: RpcPace | undefined
}): ChainClient {
  const asset = network.token.address
  const rpc = createRpc(rpcUrl, { timeoutMs, maxBytes: MAX_ANSWER_BYTES }, pace)
  const blocks = createBlockClock(() => rpc.isLimited() || rpc.roundTripMs() >= FAR_MS)
  const searchMined = createMinedSearch(rpc, blocks)
  const blockBy = (tag: string) => rpc.attempt('eth_getBlockByNumber', [tag, false])
  const lastStates = new Map<Address, WalletState>()

  async function walletState(address: Address): Promise<WalletState> {
    const [nonce, balance, block, tip] = await Promise.all([
      rpc.call('eth_getTransactionCount', [address, 'latest']),
      rpc.call('eth_getBalance', [address, 'latest']),
      rpc.call('eth_getBlockByNumber', ['latest', false]),
      rpc.attempt('eth_maxPriorityFeePerGas', []),
    ])
    const state = {
      nonce: readNumber(nonce, 'nonce'),
      balanceWei: readBig(balance, 'balance'),
      baseFeeWei: readBig(readRecord(block, 'block').baseFeePerGas, 'base fee'),
      priorityFeeWei: tip.ok ? readBig(tip.result, 'priority fee') : DEFAULT_PRIORITY_FEE_WEI,
    }
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
      const askedAtMs = Date.now()
      const [latest, finalized] = await Promise.all([blockBy('latest'), blockBy('finalized')])
      if (!latest.ok) throw new UnavailableError(`the RPC (latest block: ${latest.error.message})`)
      if (!finalized.ok || finalized.result === null) {
        // There is no substitute such as "latest minus 64": refunds depend on this block being final.
        throw new UnavailableError(
          "the RPC's finalized block (use a node that knows the tag 'finalized'); it",
        )
      }
      const head = { latest: readBlock(latest.result), finalized: readBlock(finalized.result) }
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

    async domain() {
      const ask = (data: Hex) => rpc.attempt('eth_call', [{ to: asset, data }, 'latest'])
      const [chainId, name, version] = await Promise.all([
        rpc.call('eth_chainId', []),
        ask(NAME_CALL),
        ask(VERSION_CALL),
      ])
      return {
        chainId: readNumber(chainId, 'chain id'),
        name: name.ok ? readText(name.result) : '',
        version: version.ok ? readText(version.result) : '',
      }
    },
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

/** An ABI-encoded string; empty if there is none, so that the comparison at boot reports it. */
function readText(result: unknown): string {
  const bytes = Buffer.from(readHex(result, 'text').slice(2), 'hex')
  if (bytes.length < 64) return ''
  const length = readNumber(`0x${bytes.subarray(32, 64).toString('hex')}`, 'text length')
  return bytes.subarray(64, 64 + Math.min(length, 256)).toString('utf8')
}
