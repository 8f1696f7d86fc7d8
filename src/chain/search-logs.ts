import { UnavailableError } from '../errors.ts'
import type { Address } from '../protocol/hex.ts'
import { OversizeError } from './http-text.ts'
import { createLearnedLimit } from './learned-limit.ts'
import { type Log, readLogs } from './logs.ts'
import type { Rpc } from './rpc.ts'
import { toQuantity } from './rpc-values.ts'

/** The topics of a filter: a value, one of several, or anything. */
export type Topics = ReadonlyArray<string | readonly string[] | null>

/** A part of the chain, first and last block included. */
export interface BlockRange {
  from: number
  to: number
}

/**
 * Reads the logs of a contract, in as few queries as the node allows. `firstSpan`: how many blocks a query may span
 * as far as is known; a smaller limit is learned.
 */
export function createLogSearch(address: Address, firstSpan: number) {
  const span = createLearnedLimit(firstSpan)

  async function query(rpc: Rpc, topics: Topics, { from, to }: BlockRange): Promise<Log[] | undefined> {
    const filter = { address, fromBlock: toQuantity(from), toBlock: toQuantity(to), topics }
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

  /** All logs in this range, for each filter. `onBlock` reports the progress. */
  return async (
    rpc: Rpc,
    filters: readonly Topics[],
    range: BlockRange,
    onBlock: (block: number) => void = () => {},
  ): Promise<Log[][]> => {
    const found: Log[][] = filters.map(() => [])
    let size = span.current()
    /** The last size that worked. */
    let allowed: number | undefined
    let growing = false
    for (let from = range.from; from <= range.to; ) {
      const to = Math.min(range.to, from + size - 1)
      const answers = await Promise.all(filters.map((topics) => query(rpc, topics, { from, to })))
      if (answers.includes(undefined)) {
        size = Math.max(1, Math.floor((to - from + 1) / 2))
        // The errors may have had another cause that is over. Only an error after a success shows the limit.
        growing = allowed === undefined
        if (!growing) span.shrinkTo(size)
        continue
      }
      answers.forEach((logs, index) => {
        found[index]!.push(...(logs ?? []))
      })
      onBlock(to)
      from = to + 1
      allowed = size
      size = growing ? Math.min(firstSpan, size * 2) : span.current()
    }
    // Learned only after a success: errors alone say nothing about the limit.
    if (allowed !== undefined) span.shrinkTo(allowed)
    return found
  }
}
