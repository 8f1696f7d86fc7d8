import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Committed } from '../../ports.ts'
import type { PreparedStep } from '../prepare-step.ts'

interface Waiting {
  step: PreparedStep
  resolve(result: Committed): void
  reject(reason: unknown): void
}

export interface CommitGroups {
  commit(step: PreparedStep): Promise<Committed>
  /** Settles when everything that waits now has its answer. */
  idle(): Promise<void>
}

/** A script stops the server for as long as it runs (some 40 µs a step), so it gets no more than this at once. */
const MAX_STEPS = 128
const MAX_CHARACTERS = 4_000_000

/** Gathers steps while the group before them is on its way; one script call and one wait for the disk serve them all. */
export function createCommitGroups(
  commitGroup: (steps: PreparedStep[]) => Promise<Committed[]>,
): CommitGroups {
  const waiting: Waiting[] = []
  let flushed: Promise<void> | undefined

  async function flush(): Promise<void> {
    // Whoever else was woken by the same turn joins in.
    await nextTurn()
    while (waiting.length > 0) {
      const group = waiting.splice(0, countThatFit(waiting))
      try {
        const results = await commitGroup(group.map(({ step }) => step))
        for (const [index, { resolve }] of group.entries()) resolve(results[index]!)
      } catch (reason) {
        for (const { reject } of group) reject(reason)
      }
    }
    flushed = undefined
  }

  return {
    commit: (step) => {
      return new Promise((resolve, reject) => {
        waiting.push({ step, resolve, reject })
        flushed ??= flush()
      })
    },
    idle: async () => flushed,
  }
}

/** At least one, however large. */
function countThatFit(waiting: readonly Waiting[]): number {
  let characters = 0
  let count = 0
  for (const { step } of waiting) {
    for (const { row } of step.writes) characters += row?.body.length ?? 0
    if (count > 0 && (count >= MAX_STEPS || characters > MAX_CHARACTERS)) break
    count += 1
  }
  return count
}
