import type { Peer } from '../transports/http/safeguards.ts'
import type { Soon } from '../transports/http/soon.ts'

/** A running gateway with all that belongs to it. */
export interface Occupant {
  answer(request: Request, peer: Peer): Soon<Response>
  close(): Promise<void>
}

export interface Slot<T extends Occupant> {
  /** Who answers new requests. */
  current(): T | undefined
  /** Asks the current one, which is not closed before it has answered. */
  answer(request: Request, peer: Peer): Soon<Response>
  /** New requests go to `next` from now on; the one before finishes what it has begun, then it is closed. */
  replace(next: T): void
  /** Closes the current one, and waits for those that were replaced. */
  close(): Promise<void>
}

/** What is not finished by then is finished by the next gateway's jobs. */
const DRAIN_MS = 60_000

/** Where one gateway takes the place of another without a request being refused. */
export function createSlot<T extends Occupant>(
  onError: (error: unknown) => void,
  drainMs: number = DRAIN_MS,
): Slot<T> {
  let current: { occupant: T; inFlight: number; idle?: () => void } | undefined
  const leaving = new Set<Promise<void>>()

  function leave(place: NonNullable<typeof current>): Promise<void> {
    const done = (async () => {
      if (place.inFlight > 0) {
        let timer: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          place.idle = resolve
          timer = setTimeout(resolve, drainMs)
        })
        clearTimeout(timer)
      }
      await place.occupant.close()
    })()
    const told = done.catch(onError).finally(() => leaving.delete(told))
    leaving.add(told)
    return done
  }

  return {
    current: () => current?.occupant,
    answer(request, peer) {
      const place = current
      if (!place) throw new Error('nobody is in the slot')
      const answered = place.occupant.answer(request, peer)
      if (!(answered instanceof Promise)) return answered
      place.inFlight += 1
      return answered.finally(() => {
        place.inFlight -= 1
        if (place.inFlight === 0) place.idle?.()
      })
    },
    replace(occupant) {
      const before = current
      current = { occupant, inFlight: 0 }
      // Its failure is told through `onError`.
      if (before) leave(before).catch(() => {})
    },
    async close() {
      const last = current
      current = undefined
      await Promise.all([...leaving, last?.occupant.close()])
    },
  }
}
