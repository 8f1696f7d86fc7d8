import { GatewayError } from '../errors.ts'
import type { Clock } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { withResolvers } from './signals.ts'

const WINDOW_MS = 60_000
const MAX_PAYERS = 10_000
/** Whoever waits looks again after so long at the latest. */
const LOOK_AGAIN_MS = 250

export interface Place {
  /** The payment failed: for a minute the payer has one place less. */
  fail(): void
  leave(): void
}

/**
 * Failing payments cost us simulations, and reverts cost gas: a payer has so many places, taken before the claim and
 * left once the payment is decided. One that failed stays taken for a minute. Whoever finds none free waits in line,
 * so that an honest payer with many payments at once is only slowed down.
 */
export interface PayerRoom {
  /** Why this payer gets no place at present, however long it waits. */
  refusal(payer: Address): GatewayError | undefined
  /** At most `most` payments of this payer may be under way, whatever they are for. */
  enter(payer: Address, most: number, deadline: number): Promise<Place | GatewayError>
  /** From now on at most so many payments of this payer may be under way. */
  limit(payer: Address, most: number): void
  /** A payment of this payer failed lately, as far as this process knows. */
  hasFailed(payer: Address): boolean
}

interface Payer {
  since: number
  failures: number
  live: number
  most: number
  line: Array<() => void>
}

export function createPayerRoom(clock: Clock, failuresPerMinute: number): PayerRoom {
  const payers = new Map<Address, Payer>()
  const places = failuresPerMinute === 0 ? Number.POSITIVE_INFINITY : failuresPerMinute

  function find(payer: Address): Payer | undefined {
    const known = payers.get(payer)
    if (known && known.failures > 0 && clock.now() >= known.since + WINDOW_MS) known.failures = 0
    return known
  }

  function findOrAdd(payer: Address): Payer {
    const known = find(payer)
    if (known) return known
    // Insertion order is age: the oldest that nobody needs goes first, so that memory stays bounded.
    if (payers.size >= MAX_PAYERS) {
      for (const [address, { live, line }] of payers) {
        if (live > 0 || line.length > 0) continue
        payers.delete(address)
        break
      }
    }
    const added: Payer = { since: 0, failures: 0, live: 0, most: Number.POSITIVE_INFINITY, line: [] }
    payers.set(payer, added)
    return added
  }

  function refusal(payer: Address): GatewayError | undefined {
    const known = find(payer)
    if (!known || known.failures < places) return undefined
    return new GatewayError('RATE_LIMITED', `Too many failing payments from ${payer}.`, {
      retryAfterSeconds: Math.ceil((known.since + WINDOW_MS - clock.now()) / 1000),
    })
  }

  function placeOf(payer: Address, known: Payer): Place {
    let left = false
    return {
      fail() {
        if (known.failures === 0) known.since = clock.now()
        known.failures++
      },
      leave() {
        if (left) return
        left = true
        known.live--
        known.line.shift()?.()
        if (known.live === 0 && known.failures === 0 && known.line.length === 0) payers.delete(payer)
      },
    }
  }

  return {
    refusal,
    limit(payer, most) {
      findOrAdd(payer).most = most
    },
    hasFailed: (payer) => (find(payer)?.failures ?? 0) > 0,
    async enter(payer, most, deadline) {
      for (;;) {
        const refused = refusal(payer)
        if (refused) return refused
        const known = findOrAdd(payer)
        if (known.live < Math.min(places - known.failures, known.most, most)) {
          known.live++
          return placeOf(payer, known)
        }
        const left = deadline - clock.now()
        if (left <= 0) {
          const message = `${known.live} payments of ${payer} are under way; send this one again when some are decided. Nothing was charged.`
          return new GatewayError('RATE_LIMITED', message, { retryAfterSeconds: 1 })
        }
        const called = withResolvers()
        known.line.push(called.resolve)
        await Promise.race([called.promise, clock.sleep(Math.min(left, LOOK_AGAIN_MS))])
        const index = known.line.indexOf(called.resolve)
        if (index !== -1) known.line.splice(index, 1)
      }
    },
  }
}
