import { DAY_MS } from '../protocol/duration.ts'

const FIRST_MS = 5_000
const LONGEST_MS = DAY_MS / 3
/** So long an event is tried, counted from the transition or from the moment at which it was resent. */
export const TRIED_MS = 3 * DAY_MS

/** When to try again after so many failed tries (ms); undefined: it was tried long enough. */
export function nextTry(attempts: number, since: number, now: number): number | undefined {
  const next = now + Math.min(LONGEST_MS, FIRST_MS * 3 ** (attempts - 1))
  return next > since + TRIED_MS ? undefined : next
}
