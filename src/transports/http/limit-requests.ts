import type { Engine, Outcome } from '../../engine/outcome.ts'
import { type Countable, countedProof } from './admit.ts'
import { createRateLimit, type RateVerdict } from './rate-limit.ts'

/** Payments remembered as under way; beyond it the oldest is forgotten. A few MiB. */
const MAX_UNDER_WAY = 20_000

/** Payments that are counted while the engine works on them; beyond it the oldest stays counted. */
const MAX_COUNTED = 20_000

export interface RequestLimits {
  /** Counts a request that brings no payment. */
  rateLimit(address: string): RateVerdict
  /**
   * Counts a payment as one that sells nothing, before it is worked on: otherwise payments that arrive together would all
   * find room. Only the engine's outcome takes the count back, so whatever is refused before the engine stays counted.
   */
  failureLimit(address: string, payment: Countable): RateVerdict
  /** The same engine; when a purchase succeeds, the count of its payment is taken back. */
  counting(engine: Engine): Engine
}

/**
 * What one address may ask for in a minute: so many requests without a payment, and, counted apart, so many payments
 * that sell nothing: those that fail, and those that only fetch again what was sold. A payment whose outcome is not known
 * yet is always accepted: its buyer was told to send it again. A transfer's proof is counted every time until it has
 * sold something.
 */
export function createRequestLimits(perMinute: number, now: () => number): RequestLimits {
  const unpaid = createRateLimit({ perMinute })
  const paying = createRateLimit({ perMinute })
  const underWay = new Set<string>()
  /** How often each payment is counted whose outcome the engine has not told yet. */
  const counted = new Map<string, number>()

  function count(address: string, payment: Countable): RateVerdict {
    if (underWay.has(payment.key)) return { ok: true }
    const verdict = paying(address, now())
    if (!verdict.ok) return verdict
    const key = countKey(address, payment)
    const before = counted.get(key) ?? 0
    if (before === 0 && counted.size >= MAX_COUNTED) forgetOldest(counted)
    counted.set(key, before + 1)
    return verdict
  }

  function settle(address: string, payment: Countable, outcome: Outcome | undefined, isProof: boolean): void {
    const key = countKey(address, payment)
    const before = counted.get(key) ?? 0
    if (before > 1) counted.set(key, before - 1)
    else counted.delete(key)
    const waits = outcome?.kind === 'failed' && outcome.error.code === 'SETTLEMENT_PENDING'
    // Anybody can name a transaction that is in no block: a proof that waits has cost its calls, and stays counted.
    const stays = waits && isProof
    if (before > 0 && !stays && takesCountBack(outcome)) paying.giveBack(address)
    if (!outcome) return
    underWay.delete(payment.key)
    if (!waits || stays) return
    if (underWay.size >= MAX_UNDER_WAY) forgetOldest(underWay)
    underWay.add(payment.key)
  }

  return {
    rateLimit: (address) => unpaid(address, now()),
    failureLimit: count,
    counting: (engine) => ({
      ...engine,
      async purchase(intent) {
        const { address, proof } = intent
        const payment = intent.payment ?? (proof && countedProof(proof))
        let outcome: Outcome | undefined
        try {
          outcome = await engine.purchase(intent)
          return outcome
        } finally {
          if (address !== undefined && payment) settle(address, payment, outcome, proof !== undefined)
        }
      },
    }),
  }
}

/** For a sale, an outcome that is still to come, or a fault of ours. Undefined: the engine threw. */
function takesCountBack(outcome: Outcome | undefined): boolean {
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

const countKey = (address: string, payment: Countable): string => `${address} ${payment.key}`
