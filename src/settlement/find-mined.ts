import type { Block } from '../ports.ts'
import type { Hex } from '../protocol/hex.ts'
import type { BlockClock } from './block-clock.ts'
import { type Receipt, readReceipts } from './receipts.ts'
import type { Rpc } from './rpc.ts'
import { readBlock, readRecord } from './rpc-values.ts'

const MAX_KNOWN = 10_000

/** Which of our own transactions are mined, and the latest block by then. */
export function createMinedSearch(rpc: Rpc, blocks: BlockClock) {
  /** Up to which block each of them is in none. */
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

  /** The latest block is read before any logs: a search then covers it for certain, and perhaps reports nothing later. */
  async function look(hashes: readonly Hex[]): Promise<[Receipt[], Block]> {
    const [receipts, { at }] = await Promise.all([readReceipts(rpc, hashes), latest()])
    return [receipts, at]
  }

  return {
    look,
    /**
     * Where a call costs something, receipts are asked for only if they may be there: in the next block, if that is due,
     * in the latest one, or in one that we missed.
     */
    async glance(hashes: readonly Hex[]): Promise<[Receipt[], Block]> {
      if (!blocks.isWorthIt() || blocks.expectsNext()) return look(hashes)
      const { at, transactions } = await latest()
      const missing = (hash: Hex) => !transactions.has(hash) && (absent.get(hash) ?? -1) >= at.number - 1
      const possible = hashes.filter((hash) => !missing(hash))
      const receipts = await readReceipts(rpc, possible)
      const mined = new Set(receipts.map(({ hash }) => hash))
      // One that is listed and has no receipt met a node that lags behind: it is asked for again.
      for (const hash of hashes) {
        if (mined.has(hash)) absent.delete(hash)
        else if (!transactions.has(hash)) miss(hash, at.number)
      }
      return [receipts, at]
    },
    /** It was not there before, so it is in no block that was. */
    sent(hash: unknown): void {
      const newest = blocks.newest()
      if (newest !== undefined && typeof hash === 'string') miss(hash as Hex, newest)
    },
  }
}
