import { type Instance, startInstance } from './instance.ts'
import type { Outside } from './outside.ts'

/** How long requests in hand may still take, as the standalone server has it. */
const GRACE_MS = 25_000

export interface Cluster {
  /** One that takes requests. */
  pick(): Instance | undefined
  alive(): Instance[]
  reviveAll(): void
}

/** Instances crash or are stopped, and start again without what they had not stored. */
export function startCluster(outside: Outside): Cluster {
  const { world } = outside
  const { dice, extraDice, scheduler, weather } = world
  const slots: Array<Instance | undefined> = []
  let lives = 0

  function start(slot: number): void {
    if (slots[slot]) return
    const name = `gw${slot}.${++lives}`
    slots[slot] = startInstance(outside, name, () => {
      slots[slot] = undefined
      scheduler.after(dice.skewed(100, 30_000), () => start(slot))
    })
  }

  /** Also between two calls, while everything waits. */
  function kill(): void {
    if (world.calm || weather.crash === 0) return
    const instance = slots[dice.int(0, slots.length - 1)]
    scheduler.after(dice.int(5_000, 120_000), () => {
      if (!world.calm) instance?.crash('while waiting')
      kill()
    })
  }

  /** A deployment, or an operator's stop. An embedded engine may be stopped before its requests have ended. */
  function stopOne(): void {
    if (world.calm) return
    const graceMs = extraDice.pick([0, 500, GRACE_MS])
    void slots[extraDice.int(0, slots.length - 1)]?.stop(graceMs)
  }

  for (let slot = 0; slot < weather.instances; slot++) start(slot)
  kill()
  for (let turn = 0; turn < weather.stops; turn++) {
    // Most of it happens early.
    scheduler.after(extraDice.skewed(0, weather.horizonMs), stopOne)
  }
  return {
    pick() {
      const ready = slots.filter((instance) => instance !== undefined && !instance.stopping)
      return ready.length > 0 ? dice.pick(ready) : undefined
    },
    alive: () => slots.filter((instance) => instance !== undefined),
    reviveAll() {
      for (const slot of slots.keys()) start(slot)
    },
  }
}
