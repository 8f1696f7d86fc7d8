import { UnavailableError } from '../../errors.ts'
import type { Block, FoundUses } from '../../ports.ts'
import type { Hex } from '../../protocol/hex.ts'
import type { Core } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import { refuseDoubtful } from './look-at-chain.ts'

/**
 * Finds uses, and the block up to which they are final. The two answers may come from different nodes, so the
 * finalized block is read first. A search that ended below it may have missed final uses, and decides nothing.
 */
export async function finalUses(
  core: Core,
  rail: OpenRail,
  keys: readonly string[],
  fromHeight: number,
  hashes?: readonly Hex[],
  /** Where it is known already. */
  known?: Block,
): Promise<FoundUses & { finalized: Block }> {
  const finalized = known ?? (await rail.chain.head()).finalized
  const seen = await rail.scheme.uses(keys, fromHeight, hashes)
  refuseOlderView(seen.at, finalized)
  await refuseDoubtful(core, rail, seen.at)
  return { ...seen, finalized }
}

/** A node that does not have the finalized block cannot show everything up to it. */
export function refuseOlderView(at: Block, finalized: Block): void {
  if (at.number < finalized.number) {
    throw new UnavailableError(
      `a node that has block ${finalized.number}; this one ends at ${at.number}. The chain`,
    )
  }
  if (at.number >= finalized.number && at.timestamp < finalized.timestamp)
    throw new UnavailableError(`an RPC whose finalized block is not later than its latest (${at.number})`)
}
