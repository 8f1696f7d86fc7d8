import type { Step, Store } from '../../../src/ports.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'

/** A store whose newest commits can be undone, as those of a master that died before its replica had them. */
export interface LosingStore {
  store: Store
  /** Undoes every commit since then, and answers them. What is left is a state that the store once had. */
  lose(sinceMs: number): Step[]
}

interface Entry {
  at: number
  /** What it changed; a conflict changes nothing. */
  applied: Step | undefined
  repeat(store: Store): Promise<unknown>
}

export function createLosingStore(now: () => number): LosingStore {
  let inner = createMemoryStore()
  let written: Entry[] = []

  /** The memory store acts at the call, so that what is repeated in this order comes out the same. */
  function write<T>(repeat: (store: Store) => Promise<T>): { entry: Entry; answer: Promise<T> } {
    const entry: Entry = { at: now(), applied: undefined, repeat }
    written.push(entry)
    return { entry, answer: repeat(inner) }
  }

  return {
    store: {
      ...inner,
      async commit(step) {
        const { entry, answer } = write((store) => store.commit(step))
        const result = await answer
        if (result.kind === 'applied') entry.applied = step
        return result
      },
      get: (table, keys) => inner.get(table, keys),
      list: (table, ref) => inner.list(table, ref),
      takeDue: (table, nowMs, untilMs, limit) =>
        write((store) => store.takeDue(table, nowMs, untilMs, limit)).answer,
      audit: (challengeId) => inner.audit(challengeId),
      log: (afterSeq, limit) => inner.log(afterSeq, limit),
    },
    lose(sinceMs) {
      const undone = written.filter(({ at }) => at >= sinceMs)
      written = written.filter(({ at }) => at < sinceMs)
      inner = createMemoryStore()
      for (const { repeat } of written) void repeat(inner)
      return undone.flatMap(({ applied }) => applied ?? [])
    },
  }
}
