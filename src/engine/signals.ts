import type { ChallengeRow } from '../ports.ts'

/** Wakes requests that wait for a challenge in this process. Other instances' results are found by polling. */
export interface Signals {
  /**
   * Close it when done: whoever waits must not stay in memory longer than the request. With `authKey`, this request
   * waits for that payment and delivers what it buys.
   */
  subscribe(challengeId: string, authKey?: string): Subscription
  notify(challengeId: string): void
  /** Is there a request that waits to deliver what this payment buys? */
  isAwaited(challengeId: string, authKey: string): boolean
  /** Hands it the challenge as it was just stored: delivered, or leased to it. False: it has gone meanwhile. */
  hand(challenge: ChallengeRow, authKey: string): boolean
}

export interface Subscription {
  /** Resolves at the next change; at once if there was one since the last call. */
  change(): Promise<void>
  /** The challenge was handed to this request, which must take it, and deliver if it is leased. */
  isHanded(): boolean
  takeHanded(): ChallengeRow | undefined
  close(): void
}

interface Subscriber {
  authKey: string | undefined
  handed: ChallengeRow | undefined
  fire(): void
}

export function createSignals(): Signals {
  const subscribers = new Map<string, Set<Subscriber>>()

  function waiterOf(challengeId: string, authKey: string): Subscriber | undefined {
    for (const subscriber of subscribers.get(challengeId) ?? [])
      if (subscriber.authKey === authKey) return subscriber
    return undefined
  }

  return {
    subscribe(challengeId, authKey) {
      const all = subscribers.get(challengeId) ?? new Set()
      subscribers.set(challengeId, all)
      let changed = false
      let wake: (() => void) | undefined
      const subscriber: Subscriber = {
        authKey,
        handed: undefined,
        fire() {
          changed = true
          wake?.()
        },
      }
      all.add(subscriber)
      return {
        async change() {
          if (!changed) {
            await new Promise<void>((done) => {
              wake = done
            })
          }
          changed = false
        },
        isHanded: () => subscriber.handed !== undefined,
        takeHanded() {
          const { handed } = subscriber
          subscriber.handed = undefined
          return handed
        },
        close() {
          all.delete(subscriber)
          if (all.size === 0) subscribers.delete(challengeId)
        },
      }
    },
    notify(challengeId) {
      for (const { fire } of subscribers.get(challengeId) ?? []) fire()
    },
    isAwaited: (challengeId, authKey) => waiterOf(challengeId, authKey) !== undefined,
    hand(challenge, authKey) {
      const waiter = waiterOf(challenge.key, authKey)
      if (!waiter) return false
      waiter.handed = challenge
      waiter.fire()
      return true
    },
  }
}

/** Promise.withResolvers, which Node 20 does not have. */
export function withResolvers<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
