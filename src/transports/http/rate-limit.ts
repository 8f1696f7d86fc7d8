export type RateVerdict = { ok: true } | { ok: false; retryAfterSeconds: number }

export interface RateLimitOptions {
  /** 0 is off. */
  perMinute: number
  /** Addresses remembered per window; beyond it the oldest is forgotten. Default 50,000, a few MiB. */
  maxAddresses?: number
}

const WINDOW_MS = 60_000

export interface RateLimit {
  /** Counts one more, or refuses it. */
  (address: string, nowMs: number): RateVerdict
  /** Takes one count back. */
  giveBack(address: string): void
}

/**
 * Counts requests per address over a sliding minute: this window's count plus the share of the last one that is
 * still inside. Two numbers per address, and time is an argument.
 *
 * @example
 * const limit = createRateLimit({ perMinute: 600 })
 * limit('203.0.113.7', Date.now()) // { ok: true }
 */
export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { perMinute, maxAddresses = 50_000 } = options
  let windowIndex = 0
  let current = new Map<string, number>()
  let previous = new Map<string, number>()

  function count(address: string, nowMs: number): RateVerdict {
    if (perMinute <= 0) return { ok: true }
    const index = Math.floor(nowMs / WINDOW_MS)
    // A clock that steps back must not clear the counts.
    if (index > windowIndex) {
      previous = index === windowIndex + 1 ? current : new Map()
      current = new Map()
      windowIndex = index
    }
    const elapsed = Math.max(0, Math.min(1, nowMs / WINDOW_MS - windowIndex))
    const key = limitKey(address)
    const before = previous.get(key) ?? 0
    const now = current.get(key) ?? 0
    if (before * (1 - elapsed) + now + 1 > perMinute) {
      return { ok: false, retryAfterSeconds: secondsUntilRoom(before, now, elapsed, perMinute) }
    }
    if (now === 0 && current.size >= maxAddresses) {
      const oldest = current.keys().next()
      if (!oldest.done) current.delete(oldest.value)
    }
    current.set(key, now + 1)
    return { ok: true }
  }

  function giveBack(address: string): void {
    const key = limitKey(address)
    // It may have been counted in the window before this one.
    const counts = current.has(key) ? current : previous
    const counted = counts.get(key) ?? 0
    if (counted > 1) counts.set(key, counted - 1)
    else counts.delete(key)
  }

  return Object.assign(count, { giveBack })
}

/** An IPv6 customer owns a whole /64: counting single addresses would count nothing. */
export function limitKey(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    while (groups.length + rest.length < 8) groups.push('0')
    groups.push(...rest)
  }
  return groups
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}

function secondsUntilRoom(before: number, now: number, elapsed: number, perMinute: number): number {
  // In this window the last one's share shrinks; if that is not enough, this one's share must shrink in the next.
  const at = now + 1 <= perMinute ? 1 - (perMinute - 1 - now) / before : 2 - (perMinute - 1) / now
  return Math.max(1, Math.ceil(((at - elapsed) * WINDOW_MS) / 1000))
}
