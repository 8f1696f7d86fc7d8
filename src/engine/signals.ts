import type { ChallengeRow } from '../ports.ts'

/** Wakes requests of this process that wait for a challenge. Results of other instances are found by polling. */
export interface Signals {
  /**
   * Must be closed with the request, or it stays in memory. With `authKey`, this request waits for that payment and
   * delivers what it buys.
   */
  subscribe(challengeId: string, authKey?: string): Subscription
  notify(challengeId: string): void
  /** Is there a request that waits to deliver what this payment buys? */
  isAwaited(challengeId: string, authKey: string): boolean
  /**
   * Assigns the challenge, as it was just stored (delivered, or leased for delivery), to that request. False: the
   * request has ended.
   */
  assign(challenge: ChallengeRow, authKey: string): boolean
}

export interface Subscription {
  /** Resolves at the next change, or immediately if there was one since the last call. */
  change(): Promise<void>
  /** A challenge was assigned to this request. It must take it, and deliver it if it is leased. */
  isAssigned(): boolean
  takeAssigned(): ChallengeRow | undefined
  close(): void
}

interface Subscriber {
  authKey: string | undefined
  assigned: ChallengeRow | undefined
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
        assigned: undefined,
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
        isAssigned: () => subscriber.assigned !== undefined,
        takeAssigned() {
          const { assigned } = subscriber
          subscriber.assigned = undefined
          return assigned
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
    assign(challenge, authKey) {
      const waiter = waiterOf(challenge.key, authKey)
      if (!waiter) return false
      waiter.assigned = challenge
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
