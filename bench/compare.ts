import { atMost, type Bar } from './judge.ts'
import { median } from './load.ts'

export const SIDES = ['few', 'many'] as const
/** With a thousand stored sales, and with a million. */
export type Side = (typeof SIDES)[number]

/** One thing, measured with few and with many stored sales. */
export interface Compared {
  what: string
  unit: string
  few: number
  many: number
  /** How much more it costs with many: the median of what each round showed. */
  ratio: number
  /** False: shown, but nothing is promised. */
  promised: boolean
}

/** How much more a cell may cost, and how much more we want it to cost at most. */
const MOST = 1.5
const GOAL = 1.1

/**
 * Measures a cost on both sides, so many times, in turns also who goes first: the machine changes meanwhile. Costs, not
 * rates: more is worse.
 */
export async function compare(
  { what, unit, rounds, promised = true }: { what: string; unit: string; rounds: number; promised?: boolean },
  measure: (side: Side) => Promise<number>,
): Promise<Compared> {
  const measured: Record<Side, number[]> = { few: [], many: [] }
  for (let round = 0; round < rounds; round++)
    for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed()) measured[side].push(await measure(side))
  const ratios = measured.few.map((few, round) => measured.many[round]! / few)
  return {
    ...{ what, unit, promised, few: median(measured.few), many: median(measured.many) },
    ratio: median(ratios),
  }
}

export const comparedBars = (store: string, all: readonly Compared[]): Bar[] =>
  all
    .filter(({ promised }) => promised)
    .map(({ what, ratio }) =>
      atMost('×')(`${store}: ${what}, with many sales against few`, ratio, MOST, { goal: GOAL }),
    )

export const comparedTable = (store: string, all: readonly Compared[]): string[][] => [
  [store, 'few', 'many', 'ratio'],
  ...all.map(({ what, unit, few, many, ratio }) => {
    return [`${what}, ${unit}`, few.toPrecision(3), many.toPrecision(3), `${ratio.toFixed(2)}×`]
  }),
]
