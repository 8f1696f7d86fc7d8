const ISO = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/**
 * A day (from its beginning in UTC) or a time with its zone, in milliseconds; undefined: it is neither. `Date.parse` alone
 * takes more, in the time zone of the machine: `01.02.2026` would be the second of January.
 */
export function readTime(text: string): number | undefined {
  const day = ISO.exec(text)?.[1]
  const time = Date.parse(text)
  if (day === undefined || Number.isNaN(time)) return undefined
  // The 30th of February would be a day of March.
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day) ? time : undefined
}
