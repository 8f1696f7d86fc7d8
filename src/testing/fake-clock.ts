import { setImmediate as nextTurn } from 'node:timers/promises'

/** A clock that tests move. */
export type FakeClock = {
  /** Milliseconds since the epoch; moves only by `advance`. */
  now(): number
  /** Resolves when the clock has been advanced by `ms`. */
  sleep(ms: number): Promise<void>
  /** At once: no requests leave the process here. */
  requestsSent(): Promise<void>
  /** Moves the clock and wakes sleepers in order, each at its time; await it so that their work is done. */
  advance(ms: number): Promise<void>
}

/**
 * A clock that moves only when it is advanced.
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
            // Stable: of two sleepers due at the same time, the one that slept first wakes first.
            sleepers.sort((a, b) => a.dueMs - b.dueMs)
          }),
    requestsSent: () => Promise.resolve(),
    async advance(ms) {
      const targetMs = nowMs + ms
      for (let next = sleepers[0]; next && next.dueMs <= targetMs; next = sleepers[0]) {
        sleepers = sleepers.slice(1)
        nowMs = next.dueMs
        next.wake()
        // A loop that wakes may sleep again within this advance, so let it run before the next sleeper is chosen.
        await nextTurn()
      }
      nowMs = targetMs
    },
  }
}
