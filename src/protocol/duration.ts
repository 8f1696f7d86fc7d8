export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

const UNITS: ReadonlyArray<readonly [string, number]> = [
  ['year', 31_536_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** `5400` → `90 minutes`, `604800` → `7 days`: the largest unit that is exact; other values are rounded. */
export function durationWords(seconds: number): string {
  const exact = UNITS.find(([, size]) => seconds >= size && seconds % size === 0)
  const close = UNITS.find(([, size]) => seconds >= 2 * size)
  const [unit, size] = exact ?? close ?? ['second', 1]
  const count = Math.round(seconds / size)
  return `${exact || size === 1 ? '' : 'about '}${count} ${unit}${count === 1 ? '' : 's'}`
}
