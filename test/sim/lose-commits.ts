import type { Cluster } from './cluster.ts'
import type { RecordedStore } from './ports/recorded-store.ts'
import type { World } from './world.ts'

const LAST_SECOND_MS = 1_000
const MAX_COMMITS_BETWEEN = 12
const LOOK_MS = 200

/**
 * The store's master dies with what its replica did not have yet: up to a second of commits. It happens soon after a
 * commit, or there would mostly be nothing to lose. The instances live on and remember what is lost, or some do, or none.
 */
export function loseCommits(world: World, recorded: RecordedStore, cluster: Cluster): void {
  const { fate, scheduler, weather } = world
  let left = weather.losses
  if (left === 0) return
  let target = fate.int(1, MAX_COMMITS_BETWEEN)

  function watch(): void {
    if (world.calm || left === 0) return
    if (recorded.commits() < target) {
      scheduler.after(LOOK_MS, watch, true)
      return
    }
    const agoMs = fate.int(0, LAST_SECOND_MS - LOOK_MS)
    scheduler.after(agoMs, () => void lose(fate.int(agoMs + 1, LAST_SECOND_MS)))
  }

  async function lose(tailMs: number): Promise<void> {
    if (world.calm) return
    left--
    world.count('store losses')
    await recorded.lose(scheduler.now() - tailMs)
    const restarted = fate.pick([0, 0, 0.5, 1])
    for (const instance of cluster.alive()) {
      if (fate.chance(restarted)) instance.crash('its store failed over')
    }
    target = recorded.commits() + fate.int(1, MAX_COMMITS_BETWEEN)
    watch()
  }

  watch()
}
