import { setImmediate as nextTurn } from 'node:timers/promises'

export type FakeClock = {
  /** Milliseconds since the epoch; moves only by `advance`. */
  now(): number
  /** Resolves when the clock has been advanced by `ms`. */
  sleep(ms: number): Promise<void>
  /** Moves the clock, waking sleepers in order, each at its own moment; await it to let their work happen. */
  advance(ms: number): Promise<void>
}

/**
 * A clock that stands still until told otherwise.
 *
 * @example
 * const clock = createFakeClock()
 * const nap = clock.sleep(60_000)
 * await clock.advance(60_000)
 * await nap
 */
export function createFakeClock(startMs = 1_750_000_000_000): FakeClock {
  let nowMs = startMs
  let sleepers: { dueMs: number; wake: () => void }[] = []

  return {
    now: () => nowMs,
    sleep: (ms) =>
      ms <= 0
        ? Promise.resolve()
        : new Promise((wake) => {
            sleepers.push({ dueMs: nowMs + ms, wake })
            // Stable: of two sleepers due together the first to lie down rises first.
            sleepers.sort((a, b) => a.dueMs - b.dueMs)
          }),
    async advance(ms) {
      const targetMs = nowMs + ms
      for (let next = sleepers[0]; next && next.dueMs <= targetMs; next = sleepers[0]) {
        sleepers = sleepers.slice(1)
        nowMs = next.dueMs
        next.wake()
        // A woken loop may lie down again within this very advance, so let it run before looking for the next.
        await nextTurn()
      }
      nowMs = targetMs
    },
  }
}
