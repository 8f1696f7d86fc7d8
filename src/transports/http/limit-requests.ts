import type { Engine, Outcome } from '../../engine/outcome.ts'
import type { PaymentPayload } from '../../protocol/payment.ts'
import { createRateLimit, type RateVerdict } from './rate-limit.ts'

/** Payments remembered as under way; beyond it the oldest is forgotten. A few MiB. */
const MAX_UNDER_WAY = 20_000

export interface RequestLimits {
  /** Counts a request that brings no payment. */
  rateLimit(address: string): RateVerdict
  /** Asked before a payment is worked on; counts nothing. */
  failureLimit(address: string, payment: PaymentPayload): RateVerdict
  /** The same engine; payments that fail are counted against the address that they came from. */
  counting(engine: Engine): Engine
}

/**
 * What one address may ask for in a minute: so many requests without a payment, and, counted apart, so many payments
 * that fail. A payment whose outcome is not known yet is always taken: its buyer was told to send it again.
 */
export function createRequestLimits(perMinute: number, now: () => number): RequestLimits {
  const unpaid = createRateLimit({ perMinute })
  const failing = createRateLimit({ perMinute })
  const underWay = new Set<string>()

  function note(address: string, key: string, outcome: Outcome): void {
    underWay.delete(key)
    if (outcome.kind !== 'failed') return
    const { code, httpStatus } = outcome.error
    if (code === 'SETTLEMENT_PENDING') {
      const oldest = underWay.values().next()
      if (underWay.size >= MAX_UNDER_WAY && !oldest.done) underWay.delete(oldest.value)
      underWay.add(key)
    } else if (code !== 'RATE_LIMITED' && httpStatus < 500) failing(address, now())
  }

  return {
    rateLimit: (address) => unpaid(address, now()),
    failureLimit: (address, payment) =>
      underWay.has(keyOf(payment)) ? { ok: true } : failing(address, now(), { count: false }),
    counting: (engine) => ({
      ...engine,
      async purchase(intent) {
        const outcome = await engine.purchase(intent)
        const { address, payment } = intent
        if (address !== undefined && payment) note(address, keyOf(payment), outcome)
        return outcome
      },
    }),
  }
}

const keyOf = ({ payload: { authorization } }: PaymentPayload): string =>
  `${authorization.from}:${authorization.nonce}`
