import type { Sendable } from '../ports.ts'

/**
 * Splits payments into transactions: those that must go alone get their own, the others fill batches. A batch is
 * never larger than its most restricted member allows, so members with equal limits are put together.
 */
export function groupCalls(items: readonly Sendable[], maxCalls: number): Sendable[][] {
  const limitOf = ({ batchLimit }: Sendable): number =>
    Math.max(1, Math.min(batchLimit ?? maxCalls, maxCalls))
  const groups = items.filter(({ alone }) => alone).map((item) => [item])
  const social = items.filter(({ alone }) => !alone).sort((a, b) => limitOf(b) - limitOf(a))
  let current: Sendable[] = []
  for (const item of social) {
    if (current.length > 0 && current.length < limitOf(item)) current.push(item)
    else {
      current = [item]
      groups.push(current)
    }
  }
  return groups
}
