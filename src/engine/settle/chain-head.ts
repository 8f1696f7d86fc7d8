import type { Alerts, Block, Clock } from '../../ports.ts'

/** A block whose time is further ahead of the expected time than this is doubted. */
const AHEAD_MS = 60_000
/** The same limit for the first block: this machine's clock alone may be minutes off. */
const FIRST_AHEAD_MS = 15 * 60_000
/**
 * A jump is doubted if it is larger than this, plus the most that a chain can make in the time between both blocks.
 */
const JUMP = 1_000
const JUMP_PER_SECOND = 10
/** A doubted block is believed after this many looks in a row have shown it. */
const LOOKS = 3
/** A block that was believed despite a doubt is given up if nothing confirms it for this long. */
const UNCONFIRMED_MS = 60_000

type ShownBlock = Pick<Block, 'number' | 'timestamp'>

interface Believed extends ShownBlock {
  seenAtMs: number
  /** It was believed despite a doubt, and no later block has followed it yet. */
  doubtful: boolean
}

/**
 * The highest block that this instance believes in. Looks below it are refused because they show the past, so a block
 * that does not exist must not be believed. A block that does not fit the earlier ones is believed only if it keeps
 * being shown. A believed block is dropped once the chain has passed its time without containing it.
 */
export interface ChainHead {
  /** 0: no block is believed yet. */
  readonly number: number
  /**
   * Judges the blocks that a node has shown: the block of one answer, or the two blocks of a look. Only a look can
   * replace what is believed. `ahead`: one of them is doubted, and nothing may be decided from them: neither from a
   * number nor from a time that is too high. `behind`: all are below the highest.
   */
  weigh(block: ShownBlock, other?: ShownBlock): 'fits' | 'ahead' | 'behind'
}

export function createChainHead({ clock, alerts }: { clock: Clock; alerts: Alerts }): ChainHead {
  let believed: Believed | undefined
  let doubts = 0
  let contradictions = 0
  let behindSinceMs: number | undefined
  let alerted = false

  function alertOnce(message: string): void {
    if (!alerted) alerts.raise('chain-inconsistent', message)
    alerted = true
  }

  function believe({ number, timestamp }: ShownBlock, doubtful: boolean): 'fits' {
    believed = { number, timestamp, seenAtMs: clock.now(), doubtful }
    doubts = 0
    contradictions = 0
    behindSinceMs = undefined
    return 'fits'
  }

  /** Why this block does not fit the blocks before it; undefined if it does. */
  function doubtOf(block: ShownBlock, lower: ShownBlock): string | undefined {
    const nowMs = clock.now()
    const expectedMs = believed ? believed.timestamp * 1000 + nowMs - believed.seenAtMs : 0
    const aheadMs = block.timestamp * 1000 - Math.max(nowMs, expectedMs)
    if (aheadMs > (believed ? AHEAD_MS : FIRST_AHEAD_MS)) {
      return `its time is ${Math.round(aheadMs / 1000)} s in the future (or this machine's clock is behind)`
    }
    const before = believed ?? lower
    const seconds = Math.max(0, block.timestamp - before.timestamp)
    if (block.number - before.number <= JUMP + JUMP_PER_SECOND * seconds) return undefined
    return `block ${before.number} was only ${seconds} s before it`
  }

  /** Both blocks of a look are below the believed one: checks whether the believed one was wrong. */
  function reconsider(highest: Believed, top: ShownBlock, lower: ShownBlock): 'fits' | 'behind' {
    // On one chain a lower block is always earlier. A node that is behind never shows a lower block with a later
    // time. A reorganisation may, and then the believed block is gone as well.
    const passed = Math.min(top.timestamp, lower.timestamp) > highest.timestamp
    contradictions = passed ? contradictions + 1 : 0
    behindSinceMs ??= clock.now()
    const unconfirmed = highest.doubtful && clock.now() - behindSinceMs >= UNCONFIRMED_MS
    if (contradictions < 2 && !unconfirmed) return 'behind'
    alertOnce(
      `the RPC named block ${highest.number} and is at block ${top.number} later: the former is left out, and sales go on`,
    )
    return believe(top, false)
  }

  /** Counts a doubt only if both answers of the look show it. */
  function doubtAgain(top: ShownBlock, lower: ShownBlock): 'fits' | 'ahead' {
    doubts = doubtOf(lower, lower) === undefined ? 0 : doubts + 1
    return doubts < LOOKS ? 'ahead' : believe(top, true)
  }

  return {
    get number() {
      return believed?.number ?? 0
    },
    weigh(block, other) {
      const [lower, top] = other && other.number > block.number ? [block, other] : [other ?? block, block]
      const below = believed && top.number < believed.number ? believed : undefined
      if (below && other) return reconsider(below, top, lower)
      const doubt = doubtOf(top, lower)
      if (doubt !== undefined) {
        alertOnce(`the RPC names block ${top.number}; ${doubt}. It is not believed unless it stays`)
        return other ? doubtAgain(top, lower) : 'ahead'
      }
      if (below) return 'behind'
      if (other) {
        doubts = 0
        alerted = false
      }
      // A single answer can extend what is believed, but cannot be the first block.
      const follows = believed ? top.number > believed.number : other !== undefined
      return follows ? believe(top, false) : 'fits'
    },
  }
}
