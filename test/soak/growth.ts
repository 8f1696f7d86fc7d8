import type { Held, Sample } from './samples.ts'

/** A run that is shorter has no thirds to compare: caches and heaps are still filling. */
export const LEAST_MINUTES = 9

/** Medians of the last third of the run may be above those of the middle third by this much. */
const TOLERANCE = {
  rssBytes: { share: 0.15, more: 16 * 1024 * 1024 },
  handles: { share: 0.1, more: 10 },
  diskBytes: { share: 0, more: 64 * 1024 },
} satisfies Record<keyof Held, { share: number; more: number }>

/** What grew in the instance that was left alone for two thirds of the run. */
export function growthOf(samples: readonly Sample[], minutes: number): string[] {
  if (minutes < LEAST_MINUTES) return []
  const third = Math.floor(samples.length / 3)
  const held = (from: number, to: number) =>
    samples.slice(from, to).flatMap(({ instances }) => (instances[0] ? [instances[0]] : []))
  const [middle, last] = [held(third, 2 * third), held(2 * third, samples.length)]
  return (Object.keys(TOLERANCE) as Array<keyof Held>).flatMap((what) => {
    const [then, now] = [middle, last].map((those) => median(those.map((one) => one[what]))) as [
      number,
      number,
    ]
    const { share, more } = TOLERANCE[what]
    const most = then * (1 + share) + more
    return now > most
      ? [`${what} of the first instance grew from ${then} to ${now}, above ${Math.round(most)}`]
      : []
  })
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
