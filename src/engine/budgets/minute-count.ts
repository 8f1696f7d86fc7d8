import type { Clock } from '../../ports.ts'
import { MINUTE_MS } from '../../protocol/duration.ts'

const MAX_KEYS = 10_000

/** Counts events per key within a minute, which begins with the first event. */
export interface MinuteCount {
  of(key: string): number
  add(key: string): void
  /** Time until the count of this key starts again. */
  secondsLeft(key: string): number
}

export function createMinuteCount(clock: Clock): MinuteCount {
  /** Oldest first, so that memory stays bounded. */
  const counts = new Map<string, { since: number; count: number }>()

  function current(key: string): { since: number; count: number } | undefined {
    const known = counts.get(key)
    // A clock that was set back must not make a minute last for hours.
    const isOver = known && (clock.now() >= known.since + MINUTE_MS || clock.now() < known.since)
    if (isOver) counts.delete(key)
    return isOver ? undefined : known
  }

  return {
    of: (key) => current(key)?.count ?? 0,
    add(key) {
      const known = current(key)
      if (known) known.count++
      else {
        const oldest = counts.keys().next().value
        if (counts.size >= MAX_KEYS && oldest !== undefined) counts.delete(oldest)
        counts.set(key, { since: clock.now(), count: 1 })
      }
    },
    secondsLeft(key) {
      const known = current(key)
      return known ? Math.ceil((known.since + MINUTE_MS - clock.now()) / 1000) : 0
    },
  }
}
