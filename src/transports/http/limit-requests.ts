import type { Engine, Outcome, PrepaidIntent } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { type Countable, countedProof } from './admit.ts'
import { createOpenLimit, type OpenLimit } from './open-limit.ts'
import { createRateLimit, type RateVerdict } from './rate-limit.ts'

/** Payments remembered as under way; beyond it the oldest is forgotten. A few MiB. */
const MAX_UNDER_WAY = 20_000

/** How often in a minute a payment may ask for its outcome: far more often than `Retry-After` says. */
const LOOKS_PER_MINUTE = 120

/** Accounts remembered as spent; beyond it the oldest is forgotten. */
const MAX_SPENT = 20_000

/** Payments that are counted while the engine works on them; beyond it the oldest stays counted. */
const MAX_COUNTED = 20_000

/** Answers of free routes that one address may have open at the same time, and of the guarded resource one purchase. */
const MAX_OPEN = 64

export interface RequestLimits {
  /** Counts a request that brings no payment. */
  rateLimit(address: string): RateVerdict
  /**
   * Counts a payment as one that sells nothing, before it is worked on: otherwise payments that arrive together would all
   * find room. Only the engine's outcome takes the count back, so whatever is refused before the engine stays counted.
   */
  failureLimit(address: string, payment: Countable): RateVerdict
  /** Counts the answers that are passed on to a client at the same time. Absent: the limits of addresses are off. */
  openLimit?: OpenLimit
  /** The same engine; when a purchase succeeds, the count of its payment is taken back. */
  counting(engine: Engine): Engine
}

/**
 * What one address may ask for in a minute: so many requests without a payment, and, counted apart, so many payments
 * that sell nothing: those that fail, and those that only fetch again what was sold. A payment whose outcome is not known
 * yet is accepted, since its buyer was told to send it again, but not without a pause. A transfer's proof is counted every
 * time until it has sold something. Calls with credits are not counted, but an account that has none left is: it costs the
 * store and the seller's price as much as a request without payment.
 */
export function createRequestLimits(perMinute: number, now: () => number): RequestLimits {
  const unpaid = createRateLimit({ perMinute })
  const paying = createRateLimit({ perMinute })
  const looks = createRateLimit({ perMinute: perMinute > 0 ? LOOKS_PER_MINUTE : 0 })
  const whileSpent = createRateLimit({ perMinute })
  const underWay = new Set<string>()
  /** Accounts that had no credits left when they last asked. */
  const spent = new Set<string>()
  /** How often each payment is counted whose outcome the engine has not told yet. */
  const counted = new Map<string, number>()

  function count(address: string, payment: Countable): RateVerdict {
    if (underWay.has(payment.key)) return looks(asName(payment.key), now())
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
    ...(perMinute > 0 && { openLimit: createOpenLimit(MAX_OPEN) }),
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
      async spend(intent) {
        const account = accountName(intent)
        const verdict: RateVerdict = spent.has(account) ? whileSpent(account, now()) : { ok: true }
        if (!verdict.ok) return { kind: 'failed', error: tooManyCalls(verdict) }
        const outcome = await engine.spend(intent)
        spent.delete(account)
        if (outcome.kind === 'failed' && outcome.error.code === 'CREDITS_EXHAUSTED') {
          if (spent.size >= MAX_SPENT) forgetOldest(spent)
          spent.add(account)
        }
        return outcome
      },
    }),
  }
}

/** The seller was asked for a price, which a payment that nobody has looked at yet can bring about. */
const ASKED_THE_SELLER: ReadonlySet<string> = new Set(['PRICE_UNAVAILABLE', 'PRICE_TOO_HIGH'])

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
      return outcome.error.httpStatus >= 500 && !ASKED_THE_SELLER.has(outcome.error.code)
    default:
      return false
  }
}

function forgetOldest(kept: Set<string> | Map<string, unknown>): void {
  const oldest = kept.keys().next()
  if (!oldest.done) kept.delete(oldest.value)
}

function tooManyCalls({ retryAfterSeconds }: { retryAfterSeconds: number }): GatewayError {
  const message = 'Too many calls of an account without credits; nothing was debited.'
  return new GatewayError('RATE_LIMITED', message, { retryAfterSeconds })
}

/** Limits are counted by address: no part of this must look like one of IPv6. */
const asName = (key: string): string => key.replaceAll(':', '/')

const accountName = ({ spender }: PrepaidIntent): string =>
  asName([spender.account, spender.planId ?? '', spender.resourceId].join('/'))

const countKey = (address: string, payment: Countable): string => `${address} ${payment.key}`
