import { UnavailableError } from '../errors.ts'
import type { AuthKey, Block, SeenUses } from '../ports.ts'
import type { Hex } from '../protocol/hex.ts'
import type { Core } from './core.ts'
import { refuseDoubtful } from './look-at-chain.ts'

/**
 * Uses, and the block up to which they are final. The two answers may come from different nodes: the finalized block
 * is asked for first, and a search that ended below it has not seen all that is final, so it decides nothing.
 */
export async function finalUses(
  core: Core,
  keys: readonly AuthKey[],
  fromHeight: number,
  hashes?: readonly Hex[],
): Promise<SeenUses & { finalized: Block }> {
  const { finalized } = await core.chain.head()
  const seen = await core.chain.uses(keys, fromHeight, hashes)
  refuseOlderView(seen.at, finalized)
  await refuseDoubtful(core, seen.at)
  return { ...seen, finalized }
}

/** A node that does not know the finalized block cannot tell what is missing up to it. */
export function refuseOlderView(at: Block, finalized: Block): void {
  if (at.number < finalized.number) {
    throw new UnavailableError(
      `a node that has block ${finalized.number}; this one ends at ${at.number}. The chain`,
    )
  }
  if (at.number >= finalized.number && at.timestamp < finalized.timestamp)
    throw new UnavailableError(`an RPC whose finalized block is not later than its latest (${at.number})`)
}
