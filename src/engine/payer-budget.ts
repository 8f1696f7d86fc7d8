import { GatewayError } from '../errors.ts'
import type { Clock } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'

const WINDOW_MS = 60_000
const MAX_PAYERS = 10_000

/** Failing payments cost us simulations, and reverts cost gas: a payer gets so many a minute. */
export interface PayerBudget {
  refusal(payer: Address): GatewayError | undefined
  countFailure(payer: Address): void
}

export function createPayerBudget(clock: Clock, failuresPerMinute: number): PayerBudget {
  const windows = new Map<Address, { since: number; failures: number }>()
  return {
    refusal(payer) {
      const window = windows.get(payer)
      if (!window || failuresPerMinute === 0) return undefined
      const left = window.since + WINDOW_MS - clock.now()
      if (left <= 0 || window.failures < failuresPerMinute) return undefined
      return new GatewayError('RATE_LIMITED', `Too many failing payments from ${payer}.`, {
        retryAfterSeconds: Math.ceil(left / 1000),
      })
    },
    countFailure(payer) {
      const now = clock.now()
      const window = windows.get(payer)
      if (window && window.since + WINDOW_MS > now) {
        window.failures++
        return
      }
      windows.delete(payer)
      // Insertion order is age: the oldest window goes first, so that memory stays bounded.
      const oldest = windows.keys().next().value
      if (windows.size >= MAX_PAYERS && oldest !== undefined) windows.delete(oldest)
      windows.set(payer, { since: now, failures: 1 })
    },
  }
}
