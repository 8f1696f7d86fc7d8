/** Of what a node took within a second before it refused, so much per second is asked of it from then on. */
const SHARE = 0.6
const GROWTH = 1.5
const GROWS_AFTER_MS = 3_000
/** At this rate, calls per second, it is no limit any more. */
const ENOUGH = 100
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000
const LONGEST_RETRY_AFTER_MS = 30_000

/**
 * How many calls per second a node takes, learned from its refusals: unlimited until the first one, slower after each, and
 * faster again while there is none. Shared by all who ask the same node.
 */
export interface RpcPace {
  /** How many of these calls may go out now; 0: none yet. */
  admit(calls: number): number
  /** Until the next one may. */
  waitMs(): number
  accepted(calls: number): void
  refused(calls: number, retryAfterMs?: number): void
  /** Does the node have a limit, as far as is known? */
  isLimited(): boolean
}

export function createRpcPace(now: () => number = Date.now): RpcPace {
  let perSecond = Number.POSITIVE_INFINITY
  let tokens = 0
  let tokensAtMs = 0
  let growsAtMs = 0
  let resumesAtMs = 0
  let refusals = 0
  let secondAtMs = 0
  let thisSecond = 0
  let lastSecond = 0

  function refill(): void {
    const nowMs = now()
    for (; nowMs >= growsAtMs && perSecond < ENOUGH; growsAtMs += GROWS_AFTER_MS) perSecond *= GROWTH
    if (perSecond >= ENOUGH) perSecond = Number.POSITIVE_INFINITY
    // Half a second's worth at once: as much and the rate must fit into the second that the node counts.
    const most = Math.max(1, perSecond / 2)
    tokens = Math.min(most, tokens + ((nowMs - tokensAtMs) / 1000) * perSecond)
    tokensAtMs = nowMs
  }

  /** Counted by whole seconds: it is asked for at every answer, and has to cost nothing. */
  function takenLately(): number {
    const passedMs = now() - secondAtMs
    if (passedMs >= 1000) {
      lastSecond = passedMs < 2000 ? thisSecond : 0
      thisSecond = 0
      secondAtMs = now()
    }
    return Math.max(thisSecond, lastSecond)
  }

  const isLimited = (): boolean => {
    if (perSecond < Number.POSITIVE_INFINITY) refill()
    return perSecond < Number.POSITIVE_INFINITY
  }

  return {
    isLimited,
    admit(calls) {
      if (now() < resumesAtMs) return 0
      if (!isLimited()) return calls
      const admitted = Math.min(calls, Math.floor(tokens))
      tokens -= admitted
      return admitted
    },
    waitMs() {
      const missingMs = isLimited() ? ((1 - tokens) / perSecond) * 1000 : 0
      return Math.max(1, resumesAtMs - now(), Math.ceil(missingMs))
    },
    accepted(calls) {
      refusals = 0
      takenLately()
      thisSecond += calls
    },
    refused(calls, retryAfterMs) {
      const nowMs = now()
      const pauseMs = retryAfterMs ?? Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** refusals)
      const untilMs = nowMs + Math.min(LONGEST_RETRY_AFTER_MS, pauseMs)
      // Refusals of what went out together are one.
      const known = nowMs < resumesAtMs
      resumesAtMs = Math.max(resumesAtMs, known && retryAfterMs === undefined ? 0 : untilMs)
      if (known) return
      perSecond =
        refusals > 0 ? perSecond / 2 : Math.min(perSecond, SHARE * Math.max(takenLately(), calls / 2))
      perSecond = Math.max(1, perSecond)
      refusals += 1
      tokens = 0
      tokensAtMs = nowMs
      growsAtMs = resumesAtMs + GROWS_AFTER_MS
    },
  }
}

/**
 * Does a node say "not so fast"? What a called contract says is no such thing, whatever its words; and the same code is
 * used for answers that would be too large.
 */
export function saysTooFast({
  code,
  message,
  data,
}: {
  code: number
  message: string
  data?: string
}): boolean {
  if (code === 3 || data !== undefined || /revert/i.test(message)) return false
  if (/\b(range|results?|blocks?|logs?|size|batch)\b/i.test(message)) return false
  return (
    [-32005, -32016, 429].includes(code) ||
    /rate.?limit|too many (requests|calls)|request (rate|limit|count)|(capacity|quota) exceeded|compute units|throttl/i.test(
      message,
    )
  )
}

/** Seconds, or a date. */
export function readRetryAfter(header: string | string[] | undefined, nowMs: number): number | undefined {
  const text = Array.isArray(header) ? header[0] : header
  if (text === undefined) return undefined
  const ms = /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
