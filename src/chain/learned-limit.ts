const FIRST_WAIT_MS = 10_000
const LONGEST_WAIT_MS = 3_600_000

/**
 * A limit of the node that is known only from its errors, such as the size of a batch. An error may have had another
 * cause, so after a while twice the size is tried: soon at first, and less often each time the node refuses.
 */
export interface LearnedLimit {
  current(): number
  /** More than this was refused. */
  shrinkTo(size: number): void
}

export function createLearnedLimit(first: number, now: () => number = Date.now): LearnedLimit {
  let value = first
  let waitMs = FIRST_WAIT_MS
  let growsAtMs = 0

  return {
    current() {
      while (value < first && now() >= growsAtMs) {
        value = Math.min(first, value * 2)
        growsAtMs += waitMs
        if (value === first) waitMs = FIRST_WAIT_MS
      }
      return value
    },
    shrinkTo(size) {
      if (size >= value) return
      // It was below the first size already, so it had grown again and grew too far.
      if (value < first) waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)
      value = Math.max(1, size)
      growsAtMs = now() + waitMs
    },
  }
}
