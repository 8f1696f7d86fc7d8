import { addressWord } from '../../chain/abi-words.ts'
import type { ChainClient } from '../../chain/chain-client.ts'
import { TRANSFER_TOPIC } from '../../chain/erc20.ts'
import { addressOf, type Log } from '../../chain/logs.ts'
import { minedOf, type Receipt, readReceipts } from '../../chain/receipts.ts'
import { onOneNode, type Rpc } from '../../chain/rpc.ts'
import { readBig, readBlock, toQuantity } from '../../chain/rpc-values.ts'
import { createLogSearch, type Topics } from '../../chain/search-logs.ts'
import { UnavailableError } from '../../errors.ts'
import type { Block, FoundIfMined, FoundUses, Use } from '../../ports.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { splitKey } from './authorization.ts'
import { CANCELED_TOPIC, USED_TOPIC } from './token-calls.ts'

const MAX_KEYS = 100
const NOWHERE: Address = '0x0000000000000000000000000000000000000000'

/** Finds uses of authorizations, only from the token's own logs. */
export function createUseSearch({
  rpc,
  network,
  searchMined,
}: Pick<ChainClient, 'network' | 'searchMined'> & { rpc: Rpc }) {
  const asset = network.token.address
  const searchLogs = createLogSearch(asset, network.logRange)

  function topicsOf(keys: readonly string[]): Topics {
    const parts = keys.map(splitKey)
    return [
      [USED_TOPIC, CANCELED_TOPIC],
      [...new Set(parts.map(({ payer }) => `0x${addressWord(payer)}`))],
      [...new Set(parts.map(({ nonce }) => nonce))],
    ]
  }

  function adjacentTransfer(used: Log, receiptLogs: readonly Log[]) {
    const next = receiptLogs.find(({ logIndex }) => logIndex === used.logIndex + 1)
    const exact =
      next !== undefined &&
      next.address === asset &&
      next.topics.length === 3 &&
      next.topics[0] === TRANSFER_TOPIC &&
      next.topics[1] === used.topics[1]
    // The token always logs the two next to each other. If it ever does not, the authorization is spent without a
    // known payment: it becomes a transfer to the zero address, which no rule accepts as a payment.
    if (!exact) return { logIndex: used.logIndex + 1, to: NOWHERE, value: '0' }
    return {
      logIndex: next.logIndex,
      to: addressOf(next.topics[2]!),
      value: readBig(next.data, 'Transfer value').toString(),
    }
  }

  async function receiptLogs(node: Rpc, hit: Log): Promise<Log[]> {
    const [receipt] = await readReceipts(node, [hit.txHash])
    if (receipt?.blockHash !== hit.blockHash) throw blockChanged()
    return receipt.logs
  }

  async function describe(node: Rpc, hits: readonly Log[], keyOf: KeyOf, known: Known): Promise<Use[]> {
    const perTx = remember(
      (hit) => receiptLogs(node, hit),
      (hit) => hit.txHash,
      known.logs,
    )
    const perBlock = remember(
      (hit) => blockOf(node, hit),
      (hit) => hit.blockHash,
      known.blocks,
    )
    return Promise.all(
      hits.map(async (hit): Promise<Use> => {
        const facts = { key: keyOf(hit)!, txHash: hit.txHash }
        if (hit.topics[0] === CANCELED_TOPIC)
          return { kind: 'canceled', ...facts, block: await perBlock(hit) }
        const [block, logs] = await Promise.all([perBlock(hit), perTx(hit)])
        return {
          kind: 'transfer',
          ...facts,
          block,
          from: splitKey(facts.key).payer,
          ...adjacentTransfer(hit, logs),
        }
      }),
    )
  }

  async function blockOf(node: Rpc, hit: Log): Promise<Block> {
    const block = readBlock(await node.call('eth_getBlockByNumber', [toQuantity(hit.blockNumber), false]))
    if (block.hash !== hit.blockHash) throw blockChanged()
    return block
  }

  /** Reads the receipts of our own transactions first; what they contain needs no search. */
  async function findUses(
    node: Rpc,
    keys: readonly string[],
    fromHeight: number,
    [receipts, at]: readonly [Receipt[], Block],
  ): Promise<FoundUses> {
    const wanted = new Map(
      keys.map((key) => {
        const { payer, nonce } = splitKey(key)
        return [`0x${addressWord(payer)}:${nonce}`, key]
      }),
    )
    // The filters on payer and nonce are independent; only exact pairs count.
    const keyOf: KeyOf = ({ topics }) => wanted.get(`${topics[1]}:${topics[2]}`)
    const isHit = (log: Log): boolean =>
      log.address === asset &&
      log.topics.length === 3 &&
      (log.topics[0] === USED_TOPIC || log.topics[0] === CANCELED_TOPIC) &&
      log.blockNumber >= fromHeight &&
      keyOf(log) !== undefined
    const own = receipts.flatMap(({ logs }) => logs.filter(isHit))
    const foundInReceipts = new Set(own.map(keyOf))
    const remaining = keys.filter((key) => !foundInReceipts.has(key))
    const groups: string[][] = []
    for (let from = 0; from < remaining.length; from += MAX_KEYS)
      groups.push(remaining.slice(from, from + MAX_KEYS))
    const range = { from: fromHeight, to: at.number }
    const searched = await Promise.all(groups.map((group) => searchLogs(node, [topicsOf(group)], range)))
    const logs = searched.flat(2)
    const hits = [...own, ...logs.filter((log) => isHit(log) && !foundInReceipts.has(keyOf(log)))]
    const known: Known = {
      logs: new Map(receipts.map((receipt) => [receipt.hash, Promise.resolve(receipt.logs)])),
      blocks: new Map([[at.hash, Promise.resolve(at)]]),
    }
    return { at, found: await describe(node, hits, keyOf, known), mined: receipts.map(minedOf) }
  }

  return {
    uses: (keys: readonly string[], fromHeight: number, hashes: readonly Hex[] = []): Promise<FoundUses> =>
      onOneNode(rpc, async (node) => findUses(node, keys, fromHeight, await searchMined.look(hashes, node))),
    usesIfMined: (
      keys: readonly string[],
      fromHeight: number,
      hashes: readonly Hex[],
    ): Promise<FoundIfMined> =>
      onOneNode(rpc, async (node) => {
        const first = await searchMined.lookIfLikely(hashes, node)
        const [receipts, at] = first
        return receipts.length === 0 ? { at } : { at, uses: await findUses(node, keys, fromHeight, first) }
      }),
  }
}

type KeyOf = (log: Log) => string | undefined

/** Logs and blocks that earlier answers already contained. */
interface Known {
  logs: Map<string, Promise<Log[]>>
  blocks: Map<string, Promise<Block>>
}

const blockChanged = () => new UnavailableError('the RPC (a block that changed while it was read)')

function remember<V>(
  load: (hit: Log) => Promise<V>,
  keyOf: (hit: Log) => string,
  loaded: Map<string, Promise<V>>,
): (hit: Log) => Promise<V> {
  return (hit) => {
    const key = keyOf(hit)
    const value = loaded.get(key) ?? load(hit)
    loaded.set(key, value)
    return value
  }
}
