import type { History } from '../history.ts'
import { nameOfSky, type Sky } from './skies.ts'

export interface Failure {
  seed: number
  storm?: number
  violations: string[]
}

/** What many histories came to; plain JSON, because parts of a run are kept in a file. */
export interface Tally {
  histories: number
  cpuSeconds: number
  /** What happened: how often, and in how many of the histories. */
  counts: Record<string, [times: number, histories: number]>
  /** How many histories had which weather. */
  skies: Record<string, number>
  failures: Failure[]
}

export function emptyTally(): Tally {
  return { histories: 0, cpuSeconds: 0, counts: {}, skies: {}, failures: [] }
}

export function addHistory(tally: Tally, seed: number, { storm }: Sky, history: History): void {
  tally.histories++
  const sky = nameOfSky(storm)
  tally.skies[sky] = (tally.skies[sky] ?? 0) + 1
  for (const [what, times] of history.counters) addCount(tally, what, times, times > 0 ? 1 : 0)
  const { violations } = history
  if (violations.length > 0)
    tally.failures.push({ seed, ...(storm !== undefined && { storm }), violations: violations.slice(0, 5) })
}

export function addTally(sum: Tally, part: Tally): void {
  sum.histories += part.histories
  sum.cpuSeconds += part.cpuSeconds
  for (const [what, [times, histories]] of Object.entries(part.counts)) addCount(sum, what, times, histories)
  for (const [sky, histories] of Object.entries(part.skies)) {
    sum.skies[sky] = (sum.skies[sky] ?? 0) + histories
  }
  sum.failures.push(...part.failures)
}

function addCount({ counts }: Tally, what: string, times: number, histories: number): void {
  const count = counts[what]
  if (count === undefined) {
    counts[what] = [times, histories]
    return
  }
  count[0] += times
  count[1] += histories
}
