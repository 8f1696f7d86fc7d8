import type { Block } from '../ports.ts'

/** Outside these limits, blocks are not made at regular times, or are not worth waiting for. */
const SLOWEST_MS = 15_000
const FASTEST_MS = 1_000
/** Timestamps are whole seconds: of blocks that come faster, several have the same. */
const WHOLE_SECOND_MS = 1_000
/** If the newest block is older than two block times and this, blocks are made on demand, or our clock is wrong. */
const OLD_MS = 5_000
/** A newest block that was not seen again for this long may not exist. */
const FORGOTTEN_MS = 60_000

/**
 * Predicts when the next block is visible, so that a node that is far away, or counts calls, is asked only then. The
 * time between blocks is the usual one of the network until it can be computed from the finalized and the latest one.
 * How long after its own time a block becomes visible lies between two bounds, which every answer narrows. Blocks
 * that come several a second cannot be timed by their timestamps: the next one is due one block time after the last
 * was seen.
 */
export interface BlockClock {
  /** A node named this as its latest block. */
  saw(latest: Block, askedAtMs: number): void
  measure(latest: Block, finalized: Block): void
  /** Undefined: unknown, or not worth waiting for. */
  untilAboveMs(number: number): number | undefined
  /** Is the node far away, or does it count calls? */
  isWorthIt(): boolean
  /** Is the next block likely to be there already? */
  expectsNext(): boolean
  /** The number of the newest block that was seen. */
  newest(): number | undefined
}

export function createBlockClock(
  isWorthIt: () => boolean,
  usualMs: number,
  now: () => number = Date.now,
): BlockClock {
  const fastestMs = Math.min(FASTEST_MS, usualMs / 2)
  let newest: (Block & { seenAtMs: number }) | undefined
  let blockMs: number | undefined = usualMs
  let soonestMs = Number.NEGATIVE_INFINITY
  let latestMs = Number.POSITIVE_INFINITY

  function narrow(stampMs: number, askedAtMs: number, intervalMs: number): void {
    const seenMs = now() - stampMs
    // The block after it was not visible when we asked.
    const unseenMs = askedAtMs - stampMs - intervalMs
    const slackMs = intervalMs / 4
    if (seenMs < latestMs) {
      latestMs = seenMs
      if (soonestMs > latestMs) soonestMs = latestMs - slackMs
    }
    if (unseenMs > soonestMs) {
      soonestMs = unseenMs
      if (latestMs < soonestMs) latestMs = soonestMs + slackMs
    }
  }

  const isNarrow = (intervalMs: number): boolean => latestMs - soonestMs <= intervalMs / 3

  return {
    saw(latest, askedAtMs) {
      const nowMs = now()
      const isOlder = newest && latest.number < newest.number && latest.timestamp <= newest.timestamp
      if (newest && isOlder && nowMs - newest.seenAtMs < FORGOTTEN_MS) return
      newest = { ...latest, seenAtMs: nowMs }
      if (blockMs !== undefined) narrow(latest.timestamp * 1000, askedAtMs, blockMs)
    },
    measure(latest, finalized) {
      const blocks = latest.number - finalized.number
      if (blocks < 1) return
      const measuredMs = ((latest.timestamp - finalized.timestamp) * 1000) / blocks
      const same = blockMs !== undefined && Math.abs(measuredMs - blockMs) < blockMs * 0.3
      blockMs = measuredMs >= fastestMs && measuredMs <= SLOWEST_MS ? measuredMs : undefined
      if (same) return
      soonestMs = Number.NEGATIVE_INFINITY
      latestMs = Number.POSITIVE_INFINITY
    },
    untilAboveMs(number) {
      if (!newest || blockMs === undefined || !isWorthIt()) return undefined
      const nowMs = now()
      const dueMs = newest.timestamp * 1000 + blockMs
      if (nowMs > dueMs + blockMs + OLD_MS) return undefined
      if (newest.number > number) return 0
      if (blockMs < WHOLE_SECOND_MS) {
        const leftMs = newest.seenAtMs + blockMs - nowMs
        return leftMs > 0 ? leftMs : blockMs / 2
      }
      if (!isNarrow(blockMs)) {
        return Math.max(0, dueMs + soonestMs - nowMs, newest.seenAtMs + blockMs / 3 - nowMs)
      }
      // The middle of the uncertain time, so that the next answer halves it.
      const middleMs = (soonestMs + latestMs) / 2
      const sure = latestMs - soonestMs <= blockMs / 16 || nowMs > dueMs + soonestMs
      const leftMs = dueMs + (sure ? latestMs : middleMs) - nowMs
      return leftMs > 0 ? leftMs : blockMs / 8
    },
    isWorthIt,
    expectsNext() {
      if (!newest || blockMs === undefined) return false
      if (blockMs < WHOLE_SECOND_MS) return now() >= newest.seenAtMs + blockMs
      if (!isNarrow(blockMs)) return false
      return now() >= newest.timestamp * 1000 + blockMs + latestMs - blockMs / 16
    },
    newest: () => newest?.number,
  }
}
