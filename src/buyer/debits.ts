import type { CreditPlace } from './owned-credits.ts'
import type { PrepaidAnswer } from './send-prepaid.ts'

/** What the calls of this buyer were debited, and which of them are under way. */
export interface Debits {
  /** Makes a call that costs so many credits, which count once the call was debited. */
  count(place: CreditPlace, credits: number, call: () => Promise<PrepaidAnswer>): Promise<PrepaidAnswer>
  /** All credits that were debited here so far. */
  at(place: CreditPlace): number
  /** The calls that are being made here now; each resolves when it has ended. */
  underWay(place: CreditPlace): Array<Promise<void>>
}

export function createDebits(): Debits {
  const places = new Map<string, { debited: number; calls: Set<Promise<void>> }>()
  const find = ({ base, planId, resourceId }: CreditPlace) => {
    const key = JSON.stringify([base, planId, resourceId])
    const found = places.get(key) ?? { debited: 0, calls: new Set() }
    places.set(key, found)
    return found
  }
  return {
    at: (place) => find(place).debited,
    underWay: (place) => [...find(place).calls],
    async count(place, credits, call) {
      const here = find(place)
      let end = () => {}
      const ended = new Promise<void>((resolve) => {
        end = resolve
      })
      here.calls.add(ended)
      try {
        const answer = await call()
        if (answer.kind === 'answered' && (answer.debit?.charged ?? 0) > 0) here.debited += credits
        return answer
      } finally {
        here.calls.delete(ended)
        end()
      }
    },
  }
}
