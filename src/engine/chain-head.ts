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
  /** It was not what was expected; until a later block follows it. */
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
   * Takes in the blocks that were shown: by one answer, or by the two of a look, which alone can change its mind. `ahead`:
   * one of them is doubted, and nothing may be decided by them; `behind`: all are below the highest.
   */
  weigh(block: Seen, other?: Seen): 'fits' | 'ahead' | 'behind'
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

  function believe({ number, timestamp }: Seen, shaky: boolean): 'fits' {
    believed = { number, timestamp, seenAtMs: clock.now(), shaky }
    doubts = 0
    contradictions = 0
    behindSinceMs = undefined
    return 'fits'
  }

  /** Why this block is not what comes after those seen before. */
  function doubtOf(block: Seen, lower: Seen): string | undefined {
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

  /** Neither block of a look is as high as the one believed in: is that one wrong? */
  function reconsider(highest: Believed, top: Seen, lower: Seen): 'fits' | 'behind' {
    // On one chain, whatever is lower is earlier. A node that is behind never shows this; a reorganisation may, and then
    // that block is gone as well.
    const passed = Math.min(top.timestamp, lower.timestamp) > highest.timestamp
    contradictions = passed ? contradictions + 1 : 0
    behindSinceMs ??= clock.now()
    const unconfirmed = highest.shaky && clock.now() - behindSinceMs >= UNCONFIRMED_MS
    if (contradictions < 2 && !unconfirmed) return 'behind'
    tell(
      `the RPC named block ${highest.number} and is at block ${top.number} later: the former is left out, and sales go on`,
    )
    return believe(top, false)
  }

  /** Where one answer of a look says so and another does not, it does not stay. */
  function doubtAgain(top: Seen, lower: Seen): 'fits' | 'ahead' {
    doubts = doubtOf(lower, lower) === undefined ? 0 : doubts + 1
    return doubts < LOOKS ? 'ahead' : believe(top, true)
  }

  return {
    get number() {
      return believed?.number ?? 0
    },
    weigh(block, other) {
      const [lower, top] = other && other.number > block.number ? [block, other] : [other ?? block, block]
      if (believed && top.number < believed.number) return other ? reconsider(believed, top, lower) : 'behind'
      const doubt = doubtOf(top, lower)
      if (doubt !== undefined) {
        tell(`the RPC names block ${top.number}; ${doubt}. It is not believed unless it stays`)
        return other ? doubtAgain(top, lower) : 'ahead'
      }
      if (other) {
        doubts = 0
        told = false
      }
      // A single answer follows what is believed; it is not where that begins.
      const follows = believed ? top.number > believed.number : other !== undefined
      return follows ? believe(top, false) : 'fits'
    },
  }
}
