import type { Block } from '../ports.ts'
import type { Hex } from '../protocol/hex.ts'
import type { BlockClock } from './block-clock.ts'
import { type Receipt, readReceipts } from './receipts.ts'
import type { Rpc } from './rpc.ts'
import { readBlock, readRecord } from './rpc-values.ts'

const MAX_KNOWN = 10_000

/** Finds which of our own transactions are mined, and the latest block at that time. */
export function createMinedSearch(rpc: Rpc, blocks: BlockClock, now: () => number = Date.now) {
  /** For each transaction, the block up to which it is not mined. */
  const absent = new Map<Hex, number>()
  /** Transactions that a node has just said to be in a block. */
  const reported = new Set<unknown>()

  async function latest(node: Rpc): Promise<{ at: Block; transactions: ReadonlySet<unknown> }> {
    const askedAtMs = now()
    const answer = await node.call('eth_getBlockByNumber', ['latest', false])
    const at = readBlock(answer)
    blocks.saw(at, askedAtMs)
    const { transactions } = readRecord(answer, 'block')
    return { at, transactions: new Set(Array.isArray(transactions) ? transactions : []) }
  }

  function miss(hash: Hex, upTo: number): void {
    if (absent.size > MAX_KNOWN) absent.clear()
    absent.set(hash, upTo)
  }

  /**
   * The latest block is read before any logs, so that a search certainly covers it; the logs must come from the same
   * node.
   */
  async function look(hashes: readonly Hex[], node: Rpc = rpc): Promise<[Receipt[], Block]> {
    const [receipts, { at }] = await Promise.all([readReceipts(node, hashes), latest(node)])
    return [receipts, at]
  }

  return {
    look,
    /**
     * If calls are limited or slow, receipts are read only if they may exist: in the next block if that is due, in
     * the latest one, or in one that we missed.
     */
    async lookIfLikely(hashes: readonly Hex[], node: Rpc = rpc): Promise<[Receipt[], Block]> {
      const isReported = hashes.filter((hash) => reported.delete(hash)).length > 0
      if (isReported || !blocks.isWorthIt() || blocks.expectsNext()) return look(hashes, node)
      const { at, transactions } = await latest(node)
      const missing = (hash: Hex) => !transactions.has(hash) && (absent.get(hash) ?? -1) >= at.number - 1
      const possible = hashes.filter((hash) => !missing(hash))
      const receipts = await readReceipts(node, possible)
      const mined = new Set(receipts.map(({ hash }) => hash))
      // If a transaction is listed but has no receipt, the node lags behind, so it is asked for again.
      for (const hash of hashes) {
        if (mined.has(hash)) absent.delete(hash)
        else if (!transactions.has(hash)) miss(hash, at.number)
      }
      return [receipts, at]
    },
    /** It may be in a block by now, so its receipt is read at the next look. */
    reported(hash: unknown): void {
      if (reported.size > MAX_KNOWN) reported.clear()
      reported.add(hash)
    },
    /** The transaction is new, so it is in no earlier block. */
    sent(hash: unknown): void {
      const newest = blocks.newest()
      if (newest !== undefined && typeof hash === 'string') miss(hash as Hex, newest)
    },
  }
}
