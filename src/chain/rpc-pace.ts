/** After a refusal, the rate becomes this share of the calls that the node accepted within a second. */
const SHARE = 0.6
const GROWTH = 1.5
const GROWS_AFTER_MS = 3_000
/** From this rate on (calls per second) there is no limit any more. */
const ENOUGH = 100
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000
const LONGEST_RETRY_AFTER_MS = 30_000

/**
 * How many calls per second a node takes, learned from its refusals: unlimited until the first one, slower after each, and
 * faster again while there is none. Shared by all who ask the same node; viem's retries slow down one call at a time.
 */
export interface RpcPace {
  /** How many of these calls may be sent now; 0: none yet. */
  admit(calls: number): number
  /** Time until the next call may be sent. */
  waitMs(): number
  accepted(calls: number): void
  refused(calls: number, retryAfterMs?: number): void
  /** Is a limit of the node known? */
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
    // At most half a second's calls at once: this burst and the rate must fit together into the second that the node
    // counts.
    const most = Math.max(1, perSecond / 2)
    tokens = Math.min(most, tokens + ((nowMs - tokensAtMs) / 1000) * perSecond)
    tokensAtMs = nowMs
  }

  /** Counted by whole seconds, because it runs at every answer and must be cheap. */
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
      // Refusals of calls that were sent together count as one.
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
 * Does this error mean "too many requests"? A revert of a called contract does not, whatever its words. Some nodes
 * use the same code for answers that would be too large.
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
