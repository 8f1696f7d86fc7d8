import type { Point } from './points.ts'
import { type PointResult, runPoint } from './run-point.ts'
import { type Site, type StoreServers, startSite } from './site.ts'

/** anvil slows down as its history grows. */
const POINTS_PER_CHAIN = 50

/** Plays points one after the other. */
export interface Lane {
  run(point: Point): Promise<PointResult>
  stop(): Promise<void>
}

export function openLane(index: number, servers: StoreServers): Lane {
  let site: Site | undefined
  let played = 0
  async function leave(): Promise<void> {
    await site?.stop()
    site = undefined
  }
  return {
    async run(point) {
      if (played % POINTS_PER_CHAIN === 0) await leave()
      site ??= await startSite(index)
      played += 1
      const result = await runPoint(site, servers, point)
      // What a failed point left on its chain must not fail the next one.
      if (result.violations.length > 0) await leave()
      return result
    },
    stop: leave,
  }
}

/** Every lane takes the next item as soon as it is free, until there is none. */
export async function inLanes<T>(
  lanes: readonly Lane[],
  next: () => T | undefined,
  work: (lane: Lane, item: T) => Promise<void>,
): Promise<void> {
  await Promise.all(
    lanes.map(async (lane) => {
      for (let item = next(); item !== undefined; item = next()) await work(lane, item)
    }),
  )
}
