import { UnavailableError } from '../errors.ts'
import type { AuthKey, Block, Use } from '../ports.ts'
import type { Core } from './core.ts'

/**
 * Uses, and the block up to which they are final. The two answers may come from different nodes: the finalized block
 * is asked for first, and a search that ended below it has not seen all that is final, so it decides nothing.
 */
export async function finalUses(
  core: Core,
  keys: readonly AuthKey[],
  fromHeight: number,
): Promise<{ at: Block; found: Use[]; finalized: Block }> {
  const { finalized } = await core.chain.head()
  const { at, found } = await core.chain.uses(keys, fromHeight)
  refuseOlderView(at, finalized)
  return { at, found, finalized }
}

/** A node that does not know the finalized block cannot tell what is missing up to it. */
export function refuseOlderView(at: Block, finalized: Block): void {
  if (at.number < finalized.number) {
    throw new UnavailableError(
      `a node that has block ${finalized.number}; this one ends at ${at.number}. The chain`,
    )
  }
}
