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
  /** Resolves when all steps that wait now have their results. */
  idle(): Promise<void>
}

/** A script blocks the server while it runs (about 40 µs per step), so a group has at most this many steps. */
const MAX_STEPS = 128
const MAX_CHARACTERS = 4_000_000

/** Collects steps while the group before them is being committed; they share one script call and one wait for the disk. */
export function createCommitGroups(
  commitGroup: (steps: PreparedStep[]) => Promise<Committed[]>,
): CommitGroups {
  const waiting: Waiting[] = []
  let flushed: Promise<void> | undefined

  async function flush(): Promise<void> {
    // Other callers that continue in the same tick join this group.
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

/** At least one step, even if it is larger than the limit. */
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
