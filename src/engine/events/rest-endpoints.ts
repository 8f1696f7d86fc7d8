import type { Clock } from '../../ports.ts'

/** So many failures in a row mean that the endpoint is down. */
const MANY = 5
const FIRST_REST_MS = 1_000
const LONGEST_REST_MS = 60_000

/** An endpoint that is down is left alone for a while, so that thousands of events do not wait for it one by one. */
export interface Rests {
  /** Until when (ms) nothing is sent to it; undefined: it is not resting. */
  until(endpoint: string): number | undefined
  tried(endpoint: string, ok: boolean): void
}

export function createRests(clock: Pick<Clock, 'now'>): Rests {
  const down = new Map<string, { failures: number; until: number }>()
  return {
    until(endpoint) {
      const until = down.get(endpoint)?.until ?? 0
      return clock.now() < until ? until : undefined
    },
    tried(endpoint, ok) {
      if (ok) return void down.delete(endpoint)
      const failures = (down.get(endpoint)?.failures ?? 0) + 1
      const restMs = Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** (failures - MANY))
      down.set(endpoint, { failures, until: failures < MANY ? 0 : clock.now() + restMs })
    },
  }
}
