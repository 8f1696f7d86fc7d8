/** Wakes requests that wait for a challenge in this process. Other instances' results are found by polling. */
export interface Signals {
  wait(challengeId: string): Promise<void>
  notify(challengeId: string): void
}

export function createSignals(): Signals {
  const waiting = new Map<string, { promise: Promise<void>; wake: () => void }>()
  return {
    wait(challengeId) {
      const known = waiting.get(challengeId)
      if (known) return known.promise
      const { promise, resolve } = withResolvers()
      waiting.set(challengeId, { promise, wake: resolve })
      return promise
    },
    notify(challengeId) {
      const known = waiting.get(challengeId)
      waiting.delete(challengeId)
      known?.wake()
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
