import type { Parcelable } from '../ports.ts'

/**
 * Splits payments into transactions: whoever must go alone goes alone, the others fill batches. A batch is never
 * larger than its most restricted member allows, so members of equal limits are put together.
 */
export function groupCalls(items: readonly Parcelable[], maxCalls: number): Parcelable[][] {
  const limitOf = ({ packLimit }: Parcelable): number =>
    Math.max(1, Math.min(packLimit ?? maxCalls, maxCalls))
  const groups = items.filter(({ alone }) => alone).map((item) => [item])
  const social = items.filter(({ alone }) => !alone).sort((a, b) => limitOf(b) - limitOf(a))
  let current: Parcelable[] = []
  for (const item of social) {
    if (current.length > 0 && current.length < limitOf(item)) current.push(item)
    else {
      current = [item]
      groups.push(current)
    }
  }
  return groups
}
