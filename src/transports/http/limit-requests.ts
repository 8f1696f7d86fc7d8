import type { Engine, Outcome } from '../../engine/outcome.ts'
import type { PaymentPayload } from '../../protocol/payment.ts'
import { createRateLimit, type RateVerdict } from './rate-limit.ts'

/** Payments remembered as under way; beyond it the oldest is forgotten. A few MiB. */
const MAX_UNDER_WAY = 20_000

/** Takes whose purchase has not ended; beyond it the oldest stays counted. */
const MAX_TAKEN = 20_000

export interface RequestLimits {
  /** Counts a request that brings no payment. */
  rateLimit(address: string): RateVerdict
  /**
   * Asked before a payment is worked on, and counts it at once: requests that come together must not all find room. Only
   * the engine gives it back, so that whatever is refused on the way to it stays counted.
   */
  failureLimit(address: string, payment: PaymentPayload): RateVerdict
  /** The same engine; what was counted for a payment that comes to something is given back. */
  counting(engine: Engine): Engine
}

/**
 * What one address may ask for in a minute: so many requests without a payment, and, counted apart, so many payments
 * that sell nothing: those that fail, and those that only fetch again what was sold. A payment whose outcome is not known
 * yet is always taken: its buyer was told to send it again.
 */
export function createRequestLimits(perMinute: number, now: () => number): RequestLimits {
  const unpaid = createRateLimit({ perMinute })
  const paying = createRateLimit({ perMinute })
  const underWay = new Set<string>()
  /** How often each payment was counted and has not come out of the engine again. */
  const taken = new Map<string, number>()

  function take(address: string, payment: PaymentPayload): RateVerdict {
    if (underWay.has(keyOf(payment))) return { ok: true }
    const verdict = paying(address, now())
    if (!verdict.ok) return verdict
    const key = takeKey(address, payment)
    const before = taken.get(key) ?? 0
    if (before === 0 && taken.size >= MAX_TAKEN) forgetOldest(taken)
    taken.set(key, before + 1)
    return verdict
  }

  function settle(address: string, payment: PaymentPayload, outcome: Outcome | undefined): void {
    const key = takeKey(address, payment)
    const before = taken.get(key) ?? 0
    if (before > 1) taken.set(key, before - 1)
    else taken.delete(key)
    if (before > 0 && isWorthIt(outcome)) paying.giveBack(address)
    if (!outcome) return
    underWay.delete(keyOf(payment))
    if (outcome.kind !== 'failed' || outcome.error.code !== 'SETTLEMENT_PENDING') return
    if (underWay.size >= MAX_UNDER_WAY) forgetOldest(underWay)
    underWay.add(keyOf(payment))
  }

  return {
    rateLimit: (address) => unpaid(address, now()),
    failureLimit: take,
    counting: (engine) => ({
      ...engine,
      async purchase(intent) {
        const { address, payment } = intent
        let outcome: Outcome | undefined
        try {
          outcome = await engine.purchase(intent)
          return outcome
        } finally {
          if (address !== undefined && payment) settle(address, payment, outcome)
        }
      },
    }),
  }
}

/** A sale, an outcome that is still to come, or a fault of ours. Undefined: the engine threw. */
function isWorthIt(outcome: Outcome | undefined): boolean {
  if (!outcome) return true
  switch (outcome.kind) {
    case 'granted':
      return !outcome.cached
    case 'resource':
      return !outcome.cached && outcome.response.resource.status < 300
    case 'paid':
      return true
    case 'failed':
      return outcome.error.httpStatus >= 500
    default:
      return false
  }
}

function forgetOldest(kept: Set<string> | Map<string, unknown>): void {
  const oldest = kept.keys().next()
  if (!oldest.done) kept.delete(oldest.value)
}

const keyOf = ({ payload: { authorization } }: PaymentPayload): string =>
  `${authorization.from}:${authorization.nonce}`

const takeKey = (address: string, payment: PaymentPayload): string => `${address} ${keyOf(payment)}`
