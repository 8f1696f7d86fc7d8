import { UnavailableError } from '../errors.ts'
import type { AuthKey, Block, Glance, SeenUses, Use } from '../ports.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { type BlockClock, createBlockClock } from './block-clock.ts'
import { createMinedSearch } from './find-mined.ts'
import { OversizeError } from './http-text.ts'
import { createLearnedLimit } from './learned-limit.ts'
import { minedOf, type Receipt, readReceipts } from './receipts.ts'
import type { Rpc } from './rpc.ts'
import { readBig, readBlock, toQuantity } from './rpc-values.ts'
import { addressWord, CANCELED_TOPIC, TRANSFER_TOPIC, USED_TOPIC } from './token-calls.ts'
import { addressOf, type Log, readLogs } from './token-logs.ts'

const MAX_KEYS = 100
/** Most public nodes allow this many blocks in one query; those that allow fewer teach us. */
const FIRST_SPAN = 10_000
const NOWHERE: Address = '0x0000000000000000000000000000000000000000'

/** Finds what became of authorizations: from the token's own logs, nothing else. */
export function createUseSearch(
  rpc: Rpc,
  asset: Address,
  blocks: BlockClock = createBlockClock(() => false),
) {
  const searchMined = createMinedSearch(rpc, blocks)
  const span = createLearnedLimit(FIRST_SPAN)

  async function query(keys: readonly AuthKey[], from: number, to: number): Promise<Log[] | undefined> {
    const filter = {
      address: asset,
      fromBlock: toQuantity(from),
      toBlock: toQuantity(to),
      topics: [
        [USED_TOPIC, CANCELED_TOPIC],
        [...new Set(keys.map(({ payer }) => `0x${addressWord(payer)}`))],
        [...new Set(keys.map(({ nonce }) => nonce))],
      ],
    }
    const answer = await rpc.attempt('eth_getLogs', [filter]).catch((error: unknown) => {
      if (error instanceof OversizeError) return undefined
      throw error
    })
    if (answer?.ok) return readLogs(answer.result)
    // Nodes say "range too large" in a hundred ways, so any error is met with a smaller range; a single block is
    // never too large. "Too fast" is no answer: the call was made again, or rejected.
    if (to > from) return undefined
    throw new UnavailableError(`the RPC (eth_getLogs: ${answer?.error.message ?? 'too large'})`)
  }

  /** All logs from..to, in as few queries as the node allows. */
  async function search(keys: readonly AuthKey[], fromHeight: number, to: number): Promise<Log[]> {
    const found: Log[] = []
    let size = span.current()
    /** The last size that went through. */
    let allowed: number | undefined
    let growing = false
    for (let from = fromHeight; from <= to; ) {
      const end = Math.min(to, from + size - 1)
      const logs = await query(keys, from, end)
      if (!logs) {
        size = Math.max(1, Math.floor((end - from + 1) / 2))
        // The errors may have had another cause, which is over: only one that follows a success tells the limit.
        growing = allowed === undefined
        continue
      }
      found.push(...logs)
      from = end + 1
      allowed = size
      if (growing) size *= 2
    }
    // Learned only from a success: a node that fails at everything says nothing about its limits.
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
    // The token always logs the two side by side. Should it ever not: the authorization is spent and pays nobody,
    // so it becomes a transfer to nowhere, which no rule takes for a payment.
    if (!exact) return { logIndex: used.logIndex + 1, to: NOWHERE, value: '0' }
    return {
      logIndex: next.logIndex,
      to: addressOf(next.topics[2]!),
      value: readBig(next.data, 'Transfer value').toString(),
    }
  }

  async function receiptLogs(hit: Log): Promise<Log[]> {
    const [receipt] = await readReceipts(rpc, [hit.txHash])
    if (receipt?.blockHash !== hit.blockHash) throw moved()
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
          from: facts.key.payer,
          ...adjacentTransfer(hit, logs),
        }
      }),
    )
  }

  async function blockOf(hit: Log): Promise<Block> {
    const block = readBlock(await rpc.call('eth_getBlockByNumber', [toQuantity(hit.blockNumber), false]))
    if (block.hash !== hit.blockHash) throw moved()
    return block
  }

  /** Our own transactions first: what their receipts tell needs no search. */
  async function seen(
    keys: readonly AuthKey[],
    fromHeight: number,
    [receipts, at]: readonly [Receipt[], Block],
  ): Promise<SeenUses> {
    const wanted = new Map(keys.map((key) => [`0x${addressWord(key.payer)}:${key.nonce.toLowerCase()}`, key]))
    // The filters on payer and nonce are independent; only exact pairs count.
    const keyOf: KeyOf = ({ topics }) => wanted.get(`${topics[1]}:${topics[2]}`)
    const isHit = (log: Log): boolean =>
      log.address === asset &&
      log.topics.length === 3 &&
      (log.topics[0] === USED_TOPIC || log.topics[0] === CANCELED_TOPIC) &&
      log.blockNumber >= fromHeight &&
      keyOf(log) !== undefined
    const own = receipts.flatMap(({ logs }) => logs.filter(isHit))
    const told = new Set(own.map(keyOf))
    const untold = keys.filter((key) => !told.has(key))
    const groups: AuthKey[][] = []
    for (let from = 0; from < untold.length; from += MAX_KEYS)
      groups.push(untold.slice(from, from + MAX_KEYS))
    const logs = (await Promise.all(groups.map((group) => search(group, fromHeight, at.number)))).flat()
    const hits = [...own, ...logs.filter((log) => isHit(log) && !told.has(keyOf(log)))]
    const known: Known = {
      logs: new Map(receipts.map((receipt) => [receipt.hash, Promise.resolve(receipt.logs)])),
      blocks: new Map([[at.hash, Promise.resolve(at)]]),
    }
    return { at, found: await describe(hits, keyOf, known), mined: receipts.map(minedOf) }
  }

  return {
    async uses(keys: readonly AuthKey[], fromHeight: number, hashes: readonly Hex[] = []) {
      return seen(keys, fromHeight, await searchMined.look(hashes))
    },
    async usesIfMined(keys: readonly AuthKey[], fromHeight: number, hashes: readonly Hex[]): Promise<Glance> {
      const first = await searchMined.glance(hashes)
      const [receipts, at] = first
      return receipts.length === 0 ? { at } : { at, seen: await seen(keys, fromHeight, first) }
    },
    sent: searchMined.sent,
  }
}

type KeyOf = (log: Log) => AuthKey | undefined

/** What the first answers have told already. */
interface Known {
  logs: Map<string, Promise<Log[]>>
  blocks: Map<string, Promise<Block>>
}

const moved = () => new UnavailableError('the RPC (a block that changed while it was read)')

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
