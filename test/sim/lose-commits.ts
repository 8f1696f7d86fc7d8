import type { Cluster } from './cluster.ts'
import type { RecordedStore } from './ports/recorded-store.ts'
import type { World } from './world.ts'

const LAST_SECOND_MS = 1_000
const MAX_COMMITS_BETWEEN = 12
const LOOK_MS = 200

/**
 * The store's master dies with commits that its replica did not have yet: up to a second of them. It happens soon
 * after a commit, so that there is something to lose. All, some or none of the instances keep running with knowledge
 * of what is lost.
 */
export function loseCommits(world: World, recorded: RecordedStore, cluster: Cluster): void {
  const { extraDice, scheduler, weather } = world
  let left = weather.losses
  if (left === 0) return
  let target = extraDice.int(1, MAX_COMMITS_BETWEEN)

  function watch(): void {
    if (world.calm || left === 0) return
    if (recorded.commits() < target) {
      scheduler.after(LOOK_MS, watch, true)
      return
    }
    const agoMs = extraDice.int(0, LAST_SECOND_MS - LOOK_MS)
    scheduler.after(agoMs, () => void lose(extraDice.int(agoMs + 1, LAST_SECOND_MS)))
  }

  async function lose(tailMs: number): Promise<void> {
    if (world.calm) return
    left--
    world.count('store losses')
    await recorded.lose(scheduler.now() - tailMs)
    const restarted = extraDice.pick([0, 0, 0.5, 1])
    for (const instance of cluster.alive()) {
      if (extraDice.chance(restarted)) instance.crash('its store failed over')
    }
    target = recorded.commits() + extraDice.int(1, MAX_COMMITS_BETWEEN)
    watch()
  }

  watch()
}
