import { type Effect, nameEffect } from './effects.ts'

export type When = 'before' | 'after'

/** Where a life of the gateway ends: at the `nth` time that it comes to this effect; `*` counts all of them. */
export interface Mark {
  effect: string
  when: When | '*'
  nth: number
  /** The kill comes so much later, wherever the process is by then. 0: it goes no further. */
  delayMs: number
}

/** Every effect of the gateway comes by here, and is let through or ends it. */
export interface Trigger {
  /** Resolves to go on; never, once the process was killed at this effect. */
  reach(effect: Effect, when: When): Promise<void>
  /** Counts from here: the first process is up, or the next one is about to start. */
  newLife(): void
  /** Nothing is counted or killed any more. */
  disarm(): void
  /** Lives that are still to be ended. */
  left(): number
  /** `effect/when` with how often one life came to it. */
  reached: Map<string, number>
}

export function createTrigger(marks: readonly Mark[], kill: () => void): Trigger {
  let armed = false
  let life = 0
  let counts = new Map<string, number>()
  const reached = new Map<string, number>()
  const count = (name: string) => {
    const times = (counts.get(name) ?? 0) + 1
    counts.set(name, times)
    return times
  }
  return {
    reached,
    left: () => marks.length - life,
    disarm() {
      armed = false
    },
    newLife() {
      armed = true
      counts = new Map()
    },
    reach(effect, when) {
      if (!armed) return Promise.resolve()
      const name = nameEffect(effect)
      const spot = `${name}/${when}`
      const times = count(spot)
      reached.set(spot, Math.max(times, reached.get(spot) ?? 0))
      const all = count('*')
      const mark = marks[life]
      if (!mark) return Promise.resolve()
      const here =
        mark.effect === '*'
          ? all === mark.nth
          : mark.effect === name && mark.when === when && mark.nth === times
      if (!here) return Promise.resolve()
      life += 1
      if (mark.delayMs > 0) {
        setTimeout(kill, mark.delayMs)
        return Promise.resolve()
      }
      kill()
      return new Promise(() => {})
    },
  }
}
