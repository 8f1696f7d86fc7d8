const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** Singular forms; a number without a unit means seconds, as in the configuration. */
const SIZES: Record<string, number> = {
  ...Object.fromEntries(UNITS),
  ...{ '': 1, s: 1, sec: 1, m: 60, min: 60, h: 3_600, d: 86_400, week: 604_800 },
}

export const DURATION_HELP = 'Write a time such as 30 seconds, 90 minutes, 12 hours or 7 days.'

/** `"5400"`, as it is configured, → `"90 minutes"`. Other text stays unchanged; the server reports it. */
export function durationFrom(configured: string): string {
  const seconds = /^\d{1,15}$/.test(configured) ? Number(configured) : 0
  const [name, size] = UNITS.find((unit) => seconds % unit[1] === 0) ?? UNITS[3]
  if (seconds === 0) return configured
  return `${seconds / size} ${name}${seconds === size ? '' : 's'}`
}

/** `"1.5 h"` → 5400; undefined if it is not a duration. */
export function secondsOf(text: string): number | undefined {
  const match = /^(\d{1,15}(?:\.\d{1,3})?)\s*([a-z]*)$/.exec(text.trim().toLowerCase())
  const size = SIZES[(match?.[2] ?? '').replace(/(?<=.)s$/, '')]
  const seconds = Number(match?.[1]) * (size ?? Number.NaN)
  return Number.isInteger(seconds) ? seconds : undefined
}
