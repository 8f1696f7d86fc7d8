import type { Block } from '../ports.ts'
import type { Hex } from '../protocol/hex.ts'
import type { BlockClock } from './block-clock.ts'
import { type Receipt, readReceipts } from './receipts.ts'
import type { Rpc } from './rpc.ts'
import { readBlock, readRecord } from './rpc-values.ts'

const MAX_KNOWN = 10_000

/** Finds which of our own transactions are mined, and the latest block at that time. */
export function createMinedSearch(rpc: Rpc, blocks: BlockClock) {
  /** For each transaction, the block up to which it is not mined. */
  const absent = new Map<Hex, number>()

  async function latest(): Promise<{ at: Block; transactions: ReadonlySet<unknown> }> {
    const askedAtMs = Date.now()
    const answer = await rpc.call('eth_getBlockByNumber', ['latest', false])
    const at = readBlock(answer)
    blocks.saw(at, askedAtMs)
    const { transactions } = readRecord(answer, 'block')
    return { at, transactions: new Set(Array.isArray(transactions) ? transactions : []) }
  }

  function miss(hash: Hex, upTo: number): void {
    if (absent.size > MAX_KNOWN) absent.clear()
    absent.set(hash, upTo)
  }

  /** The latest block is read before any logs, so that a search certainly covers it. */
  async function look(hashes: readonly Hex[]): Promise<[Receipt[], Block]> {
    const [receipts, { at }] = await Promise.all([readReceipts(rpc, hashes), latest()])
    return [receipts, at]
  }

  return {
    look,
    /**
     * If calls are limited or slow, receipts are read only if they may exist: in the next block if that is due, in
     * the latest one, or in one that we missed.
     */
    async lookIfLikely(hashes: readonly Hex[]): Promise<[Receipt[], Block]> {
      if (!blocks.isWorthIt() || blocks.expectsNext()) return look(hashes)
      const { at, transactions } = await latest()
      const missing = (hash: Hex) => !transactions.has(hash) && (absent.get(hash) ?? -1) >= at.number - 1
      const possible = hashes.filter((hash) => !missing(hash))
      const receipts = await readReceipts(rpc, possible)
      const mined = new Set(receipts.map(({ hash }) => hash))
      // If a transaction is listed but has no receipt, the node lags behind, so it is asked for again.
      for (const hash of hashes) {
        if (mined.has(hash)) absent.delete(hash)
        else if (!transactions.has(hash)) miss(hash, at.number)
      }
      return [receipts, at]
    },
    /** The transaction is new, so it is in no earlier block. */
    sent(hash: unknown): void {
      const newest = blocks.newest()
      if (newest !== undefined && typeof hash === 'string') miss(hash as Hex, newest)
    },
  }
}
