import { randomUUID } from 'node:crypto'

const MAX_KEPT_KEYS = 10_000

/**
 * Generates keys for calls without an Idempotency-Key. Concurrent calls have different keys. The next call of the
 * same kind reuses the key of one that ended, and first of all those of calls that failed, whose payments it so finds.
 */
export function nameCalls(): (kind: string) => { id: string; giveBack(isOpen: boolean): void } {
  const own = randomUUID()
  const taken = new Set<string>()
  /** By kind, the numbers of calls that failed and were not continued yet. */
  const open = new Map<string, Set<number>>()
  return (kind) => {
    const isFree = (number: number) => !taken.has(`${number} ${kind}`)
    let next = 0
    while (!isFree(next)) next++
    const number = [...(open.get(kind) ?? [])].find(isFree) ?? next
    const mark = `${number} ${kind}`
    taken.add(mark)
    return {
      id: `${own} ${mark}`,
      giveBack(isOpen) {
        taken.delete(mark)
        const failed = open.get(kind) ?? new Set()
        if (isOpen) open.set(kind, failed.add(number))
        else if (failed.delete(number) && failed.size === 0) open.delete(kind)
        if (open.size > MAX_KEPT_KEYS) open.delete(open.keys().next().value!)
      },
    }
  }
}

/**
 * Keys for calls with credits that bring none of their own. A call that failed leaves its key to the next one of the
 * same name, so that what may have been debited is not debited again.
 */
export function keepKeys(): {
  has(name: string): boolean
  of(name: string): string
  drop(name: string): void
} {
  const keys = new Map<string, string>()
  return {
    of(name) {
      const key = keys.get(name) ?? randomUUID()
      keys.set(name, key)
      if (keys.size > MAX_KEPT_KEYS) keys.delete(keys.keys().next().value!)
      return key
    },
    has: (name) => keys.has(name),
    drop: (name) => void keys.delete(name),
  }
}
