import { addressWord } from '../../chain/abi-words.ts'
import type { ChainClient } from '../../chain/chain-client.ts'
import { TRANSFER_TOPIC } from '../../chain/erc20.ts'
import { OversizeError } from '../../chain/http-text.ts'
import { createLearnedLimit } from '../../chain/learned-limit.ts'
import { addressOf, type Log, readLogs } from '../../chain/logs.ts'
import { minedOf, type Receipt, readReceipts } from '../../chain/receipts.ts'
import { readBig, readBlock, toQuantity } from '../../chain/rpc-values.ts'
import { UnavailableError } from '../../errors.ts'
import type { Block, FoundIfMined, FoundUses, Use } from '../../ports.ts'
import type { Address, Hex } from '../../protocol/hex.ts'
import { splitKey } from './authorization.ts'
import { CANCELED_TOPIC, USED_TOPIC } from './token-calls.ts'

const MAX_KEYS = 100
/** Most public nodes allow this many blocks per query; the limit of the others is learned. */
const FIRST_SPAN = 10_000
const NOWHERE: Address = '0x0000000000000000000000000000000000000000'

/** Finds uses of authorizations, only from the token's own logs. */
export function createUseSearch({
  rpc,
  network,
  searchMined,
}: Pick<ChainClient, 'rpc' | 'network' | 'searchMined'>) {
  const asset = network.token.address
  const span = createLearnedLimit(FIRST_SPAN)

  async function query(keys: readonly string[], from: number, to: number): Promise<Log[] | undefined> {
    const parts = keys.map(splitKey)
    const filter = {
      address: asset,
      fromBlock: toQuantity(from),
      toBlock: toQuantity(to),
      topics: [
        [USED_TOPIC, CANCELED_TOPIC],
        [...new Set(parts.map(({ payer }) => `0x${addressWord(payer)}`))],
        [...new Set(parts.map(({ nonce }) => nonce))],
      ],
    }
    const answer = await rpc.attempt('eth_getLogs', [filter]).catch((error: unknown) => {
      if (error instanceof OversizeError) return undefined
      throw error
    })
    if (answer?.ok) return readLogs(answer.result)
    // Nodes report a too large range in many ways, so any error leads to a smaller range; a single block is never too
    // large. "Too fast" does not arrive here: the RPC client repeats or rejects such calls.
    if (to > from) return undefined
    throw new UnavailableError(`the RPC (eth_getLogs: ${answer?.error.message ?? 'too large'})`)
  }

  /** All logs of this range, in as few queries as the node allows. */
  async function search(keys: readonly string[], fromHeight: number, to: number): Promise<Log[]> {
    const found: Log[] = []
    let size = span.current()
    /** The last size that worked. */
    let allowed: number | undefined
    let growing = false
    for (let from = fromHeight; from <= to; ) {
      const end = Math.min(to, from + size - 1)
      const logs = await query(keys, from, end)
      if (!logs) {
        size = Math.max(1, Math.floor((end - from + 1) / 2))
        // The errors may have had another cause that is over. Only an error after a success shows the limit.
        growing = allowed === undefined
        continue
      }
      found.push(...logs)
      from = end + 1
      allowed = size
      if (growing) size *= 2
    }
    // Learned only after a success: errors alone say nothing about the limit.
    if (allowed !== undefined) span.shrinkTo(allowed)
    return found
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

  async function receiptLogs(hit: Log): Promise<Log[]> {
    const [receipt] = await readReceipts(rpc, [hit.txHash])
    if (receipt?.blockHash !== hit.blockHash) throw blockChanged()
    return receipt.logs
  }

  async function describe(hits: readonly Log[], keyOf: KeyOf, known: Known): Promise<Use[]> {
    const perTx = remember(receiptLogs, (hit) => hit.txHash, known.logs)
    const perBlock = remember(blockOf, (hit) => hit.blockHash, known.blocks)
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

  async function blockOf(hit: Log): Promise<Block> {
    const block = readBlock(await rpc.call('eth_getBlockByNumber', [toQuantity(hit.blockNumber), false]))
    if (block.hash !== hit.blockHash) throw blockChanged()
    return block
  }

  /** Reads the receipts of our own transactions first; what they contain needs no search. */
  async function findUses(
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
    const logs = (await Promise.all(groups.map((group) => search(group, fromHeight, at.number)))).flat()
    const hits = [...own, ...logs.filter((log) => isHit(log) && !foundInReceipts.has(keyOf(log)))]
    const known: Known = {
      logs: new Map(receipts.map((receipt) => [receipt.hash, Promise.resolve(receipt.logs)])),
      blocks: new Map([[at.hash, Promise.resolve(at)]]),
    }
    return { at, found: await describe(hits, keyOf, known), mined: receipts.map(minedOf) }
  }

  return {
    async uses(keys: readonly string[], fromHeight: number, hashes: readonly Hex[] = []) {
      return findUses(keys, fromHeight, await searchMined.look(hashes))
    },
    async usesIfMined(
      keys: readonly string[],
      fromHeight: number,
      hashes: readonly Hex[],
    ): Promise<FoundIfMined> {
      const first = await searchMined.lookIfLikely(hashes)
      const [receipts, at] = first
      return receipts.length === 0 ? { at } : { at, uses: await findUses(keys, fromHeight, first) }
    },
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
