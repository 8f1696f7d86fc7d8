import type { Books } from './books.ts'

/** How much a scenario does: a few seconds of it in the tests, more by `npm run failover`. */
export interface Size {
  buyers: number
  /** Purchases that are answered before the fault, and after it. */
  purchases: number
}

export const SMALL: Size = { buyers: 6, purchases: 20 }
export const FULL: Size = { buyers: 16, purchases: 150 }

export interface Verdict {
  name: string
  /** What went wrong; empty where it held. */
  faults: string[]
  /** What was seen, in a few words each. */
  seen: string[]
}

export type Scenario = (size: Size) => Promise<Verdict>

export function verdictOf(name: string, books: Books, seen: string[], faults: string[] = []): Verdict {
  const { delivered, refunded, paid, forgotten } = books
  const counts = `${delivered} delivered, ${refunded} refunded, ${paid} payments on the chain, ${forgotten.length} forgotten`
  return { name, faults: [...books.faults, ...faults], seen: [counts, ...seen] }
}

/** What was acknowledged, and every payment on the chain, must be known to a store that loses nothing. */
export const losses = ({ forgotten, orphans, returned }: Books): string[] => [
  ...forgotten.map(({ body }) => `${body.requestId} was acknowledged and is forgotten`),
  ...orphans.map((payer) => `a payment of ${payer} is unknown`),
  ...(returned > 0 ? [`${returned} payments that went back are unknown`] : []),
]

/** What a store that may forget has forgotten: the books agree only if reconcile names each. */
export const unknownOf = ({ orphans, returned }: Books): string =>
  `reconcile names ${orphans.length} payments that the store forgot, and ${returned} more that had gone back`

/** One line: what held and what was seen, or what did not. */
export function lineOf({ name, faults, seen }: Verdict): string {
  return faults.length === 0
    ? `held ${name}: ${seen.join('; ')}`
    : `FAILED ${name}: ${faults.length} faults, first: ${faults[0]}; ${seen.join('; ')}`
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
