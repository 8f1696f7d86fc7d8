import type { Peer } from '../transports/http/safeguards.ts'
import { waitAtMost } from './wait-at-most.ts'

/** What can be swapped: something that answers requests and can be closed, such as a running gateway. */
export interface Swappable {
  answer(request: Request, peer: Peer): Response | Promise<Response>
  close(): Promise<void>
}

export interface GatewaySwap<T extends Swappable> {
  /** The gateway that answers new requests; undefined before the first one, and after `close`. */
  current(): T | undefined
  /** Asks the current gateway, which is not closed before it has answered. */
  answer(request: Request, peer: Peer): Response | Promise<Response>
  /** New requests go to `next` from now on; the gateway before it finishes the requests that it has, then it is closed. */
  swapTo(next: T): void
  /** Closes the current gateway, and waits until those before it are closed too. */
  close(): Promise<void>
}

/** What a replaced gateway has not finished by then is finished by the next gateway's jobs. */
const DRAIN_MS = 60_000

/** Replaces one gateway by another while requests come in, without refusing any of them. */
export function createGatewaySwap<T extends Swappable>(
  onError: (error: unknown) => void,
  drainMs: number = DRAIN_MS,
): GatewaySwap<T> {
  interface InUse {
    gateway: T
    inFlight: number
    onIdle?: () => void
  }
  let current: InUse | undefined
  const closing = new Set<Promise<void>>()

  async function drainAndClose(replaced: InUse): Promise<void> {
    if (replaced.inFlight > 0) {
      const idle = new Promise<void>((resolve) => {
        replaced.onIdle = resolve
      })
      await waitAtMost(drainMs, idle)
    }
    await replaced.gateway.close()
  }

  return {
    current: () => current?.gateway,
    answer(request, peer) {
      const asked = current
      if (!asked) throw new Error('no gateway is running')
      const answered = asked.gateway.answer(request, peer)
      if (!(answered instanceof Promise)) return answered
      asked.inFlight += 1
      return answered.finally(() => {
        asked.inFlight -= 1
        if (asked.inFlight === 0) asked.onIdle?.()
      })
    },
    swapTo(next) {
      const replaced = current
      current = { gateway: next, inFlight: 0 }
      if (!replaced) return
      const closed = drainAndClose(replaced)
        .catch(onError)
        .finally(() => closing.delete(closed))
      closing.add(closed)
    },
    async close() {
      const last = current
      current = undefined
      await Promise.all([...closing, last?.gateway.close()])
    },
  }
}
