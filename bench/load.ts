import { type Connection, openConnection } from './connection.ts'

export interface Load {
  ok: number
  failed: number
  seconds: number
  /** Of what succeeded, sorted. */
  latenciesMs: number[]
  /** Why something failed, with how often. */
  reasons: Record<string, number>
}

/** One unit of work; what it returns is why it failed. */
export type Work = (connection: Connection, index: number) => Promise<string | undefined>

/** How much work: so many units, so many seconds, or whichever ends first. */
export type Limit = { count: number; seconds?: number } | { seconds: number; count?: number }

/** Keeps `concurrency` workers busy, each with its own connection. */
export async function runLoad(
  url: string,
  concurrency: number,
  { count = Number.POSITIVE_INFINITY, seconds = Number.POSITIVE_INFINITY }: Limit,
  work: Work,
): Promise<Load> {
  const connections = await Promise.all(Array.from({ length: concurrency }, () => openConnection(url)))
  const load: Load = { ok: 0, failed: 0, seconds: 0, latenciesMs: [], reasons: {} }
  const started = performance.now()
  let next = 0
  const more = (): boolean => next < count && performance.now() - started < seconds * 1000

  const drive = async (slot: number) => {
    while (more()) {
      const index = next++
      const begun = performance.now()
      const reason = await work(connections[slot]!, index).catch((error: Error) => error.message)
      if (reason === undefined) {
        load.ok += 1
        load.latenciesMs.push(performance.now() - begun)
        continue
      }
      load.failed += 1
      load.reasons[reason] = (load.reasons[reason] ?? 0) + 1
      // A connection that failed is in an unknown state.
      connections[slot]!.close()
      connections[slot] = await openConnection(url)
    }
  }
  await Promise.all(connections.map((_, slot) => drive(slot)))
  load.seconds = (performance.now() - started) / 1000
  for (const connection of connections) connection.close()
  load.latenciesMs.sort((a, b) => a - b)
  return load
}

/** The value below which this share of a sorted list lies. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  )
}
