import type { Block } from '../../../src/ports.ts'
import type { World } from '../world.ts'
import { blockAt, type SimBlock, type View } from './branch.ts'
import type { SimChain } from './sim-chain.ts'

/** What a node of this chain shows when it is asked. */
export interface NodeView {
  /** Perhaps some blocks behind, perhaps still on a branch that is gone. */
  view(): View
  /** The latest block as a node names it: perhaps one that nobody will ever see. */
  named(block: SimBlock): Block
}

export function createNodeView(world: World, chain: SimChain): NodeView {
  const { dice, weather, scheduler } = world
  return {
    view() {
      const head = chain.head()
      if (world.calm || !dice.chance(weather.stale)) return head
      world.count('stale answers')
      const { orphan } = chain
      // A node knows better by the time that its branch contradicts a finalized block: without that, nothing is final.
      const believable = orphan && orphan.untilMs > scheduler.now() && orphan.fork >= chain.finalized
      if (believable && dice.chance(0.5)) {
        return { branch: orphan.branch, block: orphan.branch.blocks.at(-1)! }
      }
      const behind = dice.int(1, weather.maxStaleBlocks)
      const oldest = head.branch.blocks[0]!.number
      return {
        branch: head.branch,
        block: blockAt(head.branch, Math.max(oldest, head.block.number - behind)),
      }
    },
    named(block) {
      if (world.calm || weather.phantoms === 0 || !dice.chance(weather.phantoms)) return facts(block)
      world.count('phantom blocks')
      const [blocks, seconds] = dice.pick([
        [1_000_000, 0],
        [0, 1_000_000],
        [1_000_000, 1_000_000],
      ] as const)
      return { number: block.number + blocks, hash: '0xfa27', timestamp: block.timestamp + seconds }
    },
  }
}

export function facts({ number, hash, timestamp }: SimBlock): Block {
  return { number, hash, timestamp }
}
