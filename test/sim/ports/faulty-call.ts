import { UnavailableError } from '../../../src/errors.ts'
import type { World } from '../world.ts'

/** Where a call comes from: an instance that may die at any moment. */
export interface Host {
  readonly name: string
  readonly alive: boolean
  /** It takes requests all the same; a real server listens only after its start. */
  readonly starting: boolean
  crash(why: string): void
}

/** Never settles, like a promise of a process that has died. */
export function never<T>(): Promise<T> {
  return new Promise(() => {})
}

/**
 * One call of a port, as an event: it takes time, and it may be refused before the effect, lose its answer after it,
 * or take the instance with it on either side.
 */
export function faultyCall<T>(
  world: World,
  host: Host,
  label: string,
  effect: () => Promise<T>,
  isDown: () => boolean = () => false,
): Promise<T> {
  const { dice, weather, scheduler } = world
  if (!host.alive) return never()
  if (world.calm) return effect()
  const latency = (): number => dice.skewed(0, weather.maxLatencyMs)
  return new Promise((resolve, reject) => {
    const refuse = (why: string): void => {
      world.note(host.name, () => `${label}: ${why}`)
      world.count(`calls ${why}`)
      reject(new UnavailableError(label))
    }
    scheduler.after(latency(), () => {
      if (!host.alive) return
      const roll = world.calm ? 1 : dice.next()
      const { crash, rejected, lostAnswer } = weather
      if (roll < crash / 2) return host.crash(`before ${label}`)
      if (isDown() && !world.calm) return refuse('down')
      if (roll < crash + rejected && roll >= crash) return refuse('rejected')
      effect().then((answer) => {
        if (roll < crash) return host.crash(`after ${label}`)
        if (roll < crash + rejected + lostAnswer) return refuse('answer lost')
        world.note(host.name, () => `${label} -> ${brief(answer)}`)
        if (dice.chance(0.7)) return resolve(answer)
        scheduler.after(latency(), () => {
          if (host.alive) resolve(answer)
        })
      }, reject)
    })
  })
}

function brief(answer: unknown): string {
  const text = JSON.stringify(answer, (_, value) => (typeof value === 'bigint' ? value.toString() : value))
  return text === undefined ? 'done' : text.length > 160 ? `${text.slice(0, 160)}…` : text
}
