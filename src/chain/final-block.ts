import { UnavailableError } from '../errors.ts'
import type { Block } from '../ports.ts'
import type { Rpc } from './rpc.ts'
import { readBlock, toQuantity } from './rpc-values.ts'

const blockBy = (rpc: Rpc, tag: string) => rpc.attempt('eth_getBlockByNumber', [tag, false])

/** The block that the node itself calls final. */
export async function readFinal(rpc: Rpc): Promise<Block> {
  const answer = await blockBy(rpc, 'finalized')
  if (answer.ok && answer.result !== null) return readBlock(answer.result)
  // There is no substitute such as "latest minus 64": refunds depend on this block being final.
  throw new UnavailableError("the RPC's finalized block (use a node that knows the tag 'finalized'); it")
}

export async function readLatest(rpc: Rpc): Promise<Block> {
  const answer = await blockBy(rpc, 'latest')
  if (!answer.ok) throw new UnavailableError(`the RPC (latest block: ${answer.error.message})`)
  return readBlock(answer.result)
}

/**
 * The latest block, and the highest one that the chain will not take back: the node says it itself, or the network's
 * table says how deep it is.
 */
export async function readHead(
  rpc: Rpc,
  finalDepth: number | null,
): Promise<{ latest: Block; finalized: Block }> {
  if (finalDepth === null) {
    const [latest, finalized] = await Promise.all([readLatest(rpc), readFinal(rpc)])
    return { latest, finalized }
  }
  const latest = await readLatest(rpc)
  const height = toQuantity(Math.max(0, latest.number - finalDepth))
  return { latest, finalized: readBlock(await rpc.call('eth_getBlockByNumber', [height, false])) }
}
