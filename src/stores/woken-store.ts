import type { Put, Step, Store } from '../ports.ts'

/** Carries hints between instances; some may be lost. Never throws. */
export interface Wakeups {
  publish(ids: readonly string[]): void
  subscribe(listener: (ids: readonly string[]) => void): () => void
  close(): void
}

/** A store whose commits wake up requests that wait on other instances. */
export function wokenStore(store: Store, wakeups: Wakeups): Store {
  return {
    ...store,
    async commit(step) {
      const committed = await store.commit(step)
      const ids = committed.kind === 'applied' ? challengesOf(step) : []
      if (ids.length > 0) wakeups.publish(ids)
      return committed
    },
    onCommitted: (listener) => wakeups.subscribe(listener),
    async close() {
      wakeups.close()
      await store.close()
    },
  }
}

function challengesOf({ puts }: Step): string[] {
  return [...new Set(puts.flatMap(challengeOf))]
}

function challengeOf(put: Put): string[] {
  if (put.table === 'challenges') return [put.row.key]
  return put.table === 'authorizations' ? [put.row.challengeId] : []
}
