/** Wakes requests that wait for a challenge in this process. Other instances' results are found by polling. */
export interface Signals {
  /** Close it when done: whoever waits must not stay in memory longer than the request. */
  subscribe(challengeId: string): Subscription
  notify(challengeId: string): void
}

export interface Subscription {
  /** Resolves at the next change; at once if there was one since the last call. */
  change(): Promise<void>
  close(): void
}

export function createSignals(): Signals {
  const subscribers = new Map<string, Set<() => void>>()
  return {
    subscribe(challengeId) {
      const all = subscribers.get(challengeId) ?? new Set()
      subscribers.set(challengeId, all)
      let changed = false
      let wake: (() => void) | undefined
      const fire = (): void => {
        changed = true
        wake?.()
      }
      all.add(fire)
      return {
        async change() {
          if (!changed) {
            await new Promise<void>((done) => {
              wake = done
            })
          }
          changed = false
        },
        close() {
          all.delete(fire)
          if (all.size === 0) subscribers.delete(challengeId)
        },
      }
    },
    notify(challengeId) {
      for (const fire of subscribers.get(challengeId) ?? []) fire()
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
