import type { Alerts, Block, Clock } from '../ports.ts'

/** How far the chain's time may run ahead of what is expected of it before that is doubted. */
const AHEAD_MS = 60_000
/** The same before any block was believed: the clock of this machine alone may be off by minutes. */
const FIRST_AHEAD_MS = 15 * 60_000
/** More blocks than these, and than any chain makes in the time between them, are doubted. */
const JUMP = 1_000
const JUMP_PER_SECOND = 10
/** So many looks in a row must show what is doubted before it is believed. */
const LOOKS = 3
/** What was believed on little evidence is given up when nothing has confirmed it for so long. */
const UNCONFIRMED_MS = 60_000

type Seen = Pick<Block, 'number' | 'timestamp'>

interface Believed extends Seen {
  seenAtMs: number
  /** There was nothing to compare it with, or it was not what was expected; until a later block follows it. */
  shaky: boolean
}

/**
 * The highest block that this instance believes in: a look below it would be a look into the past, so that one block
 * which does not exist must not be taken in. What does not fit the blocks seen before is believed only when it stays,
 * and what the chain has passed by in time without having it is believed no longer.
 */
export interface ChainHead {
  /** 0: none yet. */
  readonly number: number
  /**
   * Takes in the blocks that one look showed. `ahead`: one of them is doubted, and nothing may be decided by them;
   * `behind`: all are below the highest.
   */
  weigh(...blocks: Seen[]): 'fits' | 'ahead' | 'behind'
}

export function createChainHead({ clock, alerts }: { clock: Clock; alerts: Alerts }): ChainHead {
  let believed: Believed | undefined
  let doubts = 0
  let contradictions = 0
  let behindSinceMs: number | undefined
  let told = false

  function tell(message: string): void {
    if (!told) alerts.raise('chain-inconsistent', message)
    told = true
  }

  function believe(block: Seen, shaky: boolean): void {
    const { number, timestamp } = block
    believed = { number, timestamp, seenAtMs: clock.now(), shaky }
    doubts = 0
    contradictions = 0
    behindSinceMs = undefined
  }

  /** Why this block is not what comes after those seen before. */
  function doubtOf(block: Seen, lowest: Seen): string | undefined {
    const nowMs = clock.now()
    const expectedMs = believed ? believed.timestamp * 1000 + nowMs - believed.seenAtMs : 0
    const aheadMs = block.timestamp * 1000 - Math.max(nowMs, expectedMs)
    if (aheadMs > (believed ? AHEAD_MS : FIRST_AHEAD_MS)) {
      return `its time is ${Math.round(aheadMs / 1000)} s in the future (or this machine's clock is behind)`
    }
    const before = believed ?? lowest
    const seconds = Math.max(0, block.timestamp - before.timestamp)
    if (block.number - before.number <= JUMP + JUMP_PER_SECOND * seconds) return undefined
    return `block ${before.number} was only ${seconds} s before it`
  }

  /** No block of the answers is as high as the one believed in: is that one wrong? */
  function reconsider(highest: Believed, blocks: readonly Seen[], top: Seen): 'fits' | 'behind' {
    // On one chain, whatever is lower is earlier. A node that is behind never shows this; a reorganisation may, and then
    // that block is gone as well.
    const passed = blocks.every(({ timestamp }) => timestamp > highest.timestamp)
    contradictions = passed ? contradictions + 1 : 0
    behindSinceMs ??= clock.now()
    const unconfirmed = highest.shaky && clock.now() - behindSinceMs >= UNCONFIRMED_MS
    if (contradictions < 2 && !unconfirmed) return 'behind'
    tell(
      `the RPC named block ${highest.number} and is at block ${top.number} later: the former is left out, and sales go on`,
    )
    believe(top, !passed)
    return 'fits'
  }

  return {
    get number() {
      return believed?.number ?? 0
    },
    weigh(...blocks) {
      const top = blocks.reduce((high, next) => (next.number > high.number ? next : high))
      const lowest = blocks.reduce((low, next) => (next.number < low.number ? next : low))
      if (believed && top.number < believed.number) return reconsider(believed, blocks, top)
      behindSinceMs = undefined
      contradictions = 0
      const doubt = doubtOf(top, lowest)
      if (doubt === undefined) {
        doubts = 0
        told = false
        if (!believed || top.number > believed.number) believe(top, !believed && blocks.length === 1)
        return 'fits'
      }
      tell(`the RPC names block ${top.number}; ${doubt}. It is not believed unless it stays`)
      // Where one answer of a look says so and another does not, it does not stay.
      doubts = blocks.every((block) => doubtOf(block, lowest) !== undefined) ? doubts + 1 : 0
      if (doubts < LOOKS) return 'ahead'
      believe(top, true)
      return 'fits'
    },
  }
}
