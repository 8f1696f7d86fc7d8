import { GatewayError } from '../../errors.ts'
import type { Clock } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { withResolvers } from '../signals.ts'
import { createMinuteCount, type MinuteCount } from './minute-count.ts'

/** A waiting request checks again after this long at the latest. */
const LOOK_AGAIN_MS = 250

export interface Place {
  /** The payment failed: its payer has one place less for a minute. */
  fail(): void
  leave(): void
}

/**
 * Limits the payments of each payer that are under way: failing ones cost us simulations, and reverts cost gas. A
 * payer has a number of places. A place is taken before the claim and freed once the payment is decided; after a
 * failure it stays taken for a minute. A request without a place waits, so that an honest payer with many payments at
 * once is only slowed down.
 */
export interface PayerRoom {
  /** Why this payer gets no place now, however long it waits. */
  refusal(payer: Address): GatewayError | undefined
  /** Waits for a place. At most `most` payments of this payer may be under way on this chain, whatever they are for. */
  enter(payer: Address, chainId: number, most: number, deadline: number): Promise<Place | GatewayError>
  /** From now on at most so many payments of this payer may be under way on this chain. */
  limit(payer: Address, chainId: number, most: number): void
  /** A payment of this payer failed lately, as far as this process knows. */
  hasFailed(payer: Address): boolean
  /**
   * A payer may send new signatures to fetch a result again, and each costs a look at the chain. Their number per
   * minute is limited and counted before the look, so that concurrent requests cannot exceed it. Undefined: it may
   * pass.
   */
  refuseLook(payer: Address): GatewayError | undefined
  /**
   * A proof of a plain transfer costs several calls before its sender is known, so the proofs of each challenge are
   * counted instead, in the same way.
   */
  refuseProof(challengeId: string): GatewayError | undefined
  /** Begins once all that was asked for this payer before is done, or has failed. */
  inTurn<T>(payer: Address, act: () => Promise<T>): Promise<T>
}

/** A payer on one chain. */
interface Payer {
  live: number
  most: number
  line: Array<() => void>
}

export function createPayerRoom(clock: Clock, failuresPerMinute: number): PayerRoom {
  const payers = new Map<string, Payer>()
  const failures = createMinuteCount(clock)
  const looks = createMinuteCount(clock)
  const proofs = createMinuteCount(clock)
  const turns = new Map<Address, Promise<void>>()
  const places = failuresPerMinute === 0 ? Number.POSITIVE_INFINITY : failuresPerMinute

  function findOrAdd(place: string): Payer {
    const known = payers.get(place) ?? { live: 0, most: Number.POSITIVE_INFINITY, line: [] }
    payers.set(place, known)
    return known
  }

  /** Only payers with a payment under way or a limit of their own are kept. */
  function forgetIdle(place: string, { live, line, most }: Payer): void {
    if (live === 0 && line.length === 0 && (most === Number.POSITIVE_INFINITY || payers.size > MAX_LIMITED)) {
      payers.delete(place)
    }
  }

  function refusal(payer: Address): GatewayError | undefined {
    if (failures.of(payer) < places) return undefined
    return new GatewayError('RATE_LIMITED', `Too many failing payments from ${payer}.`, {
      retryAfterSeconds: failures.secondsLeft(payer),
    })
  }

  function placeOf(payer: Address, place: string, known: Payer): Place {
    let left = false
    return {
      fail: () => failures.add(payer),
      leave() {
        if (left) return
        left = true
        known.live--
        known.line.shift()?.()
        forgetIdle(place, known)
      },
    }
  }

  return {
    refusal,
    limit(payer, chainId, most) {
      findOrAdd(placeName(payer, chainId)).most = most
    },
    hasFailed: (payer) => failures.of(payer) > 0,
    refuseLook(payer) {
      const message = `Too many new signatures from ${payer} for what is paid already; to fetch a result again, resend the original payload unchanged.`
      return refuseMore(looks, payer, places, message)
    },
    refuseProof(challengeId) {
      const message = 'Too many proofs for this challenge. Send the same proof again later; do not pay again.'
      return refuseMore(proofs, challengeId, places, message)
    },
    async inTurn(payer, act) {
      const acting = (turns.get(payer) ?? Promise.resolve()).then(act)
      const done = acting.then(
        () => undefined,
        () => undefined,
      )
      turns.set(payer, done)
      await done
      if (turns.get(payer) === done) turns.delete(payer)
      return acting
    },
    async enter(payer, chainId, most, deadline) {
      const place = placeName(payer, chainId)
      for (;;) {
        const refused = refusal(payer)
        if (refused) return refused
        const known = findOrAdd(place)
        if (known.live < Math.min(places - failures.of(payer), known.most, most)) {
          known.live++
          return placeOf(payer, place, known)
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

function refuseMore(
  counts: MinuteCount,
  key: string,
  most: number,
  message: string,
): GatewayError | undefined {
  if (counts.of(key) >= most) {
    return new GatewayError('RATE_LIMITED', message, { retryAfterSeconds: counts.secondsLeft(key) })
  }
  counts.add(key)
  return undefined
}

const placeName = (payer: Address, chainId: number): string => `${chainId}:${payer}`

/** With more payers than this, the limits of idle payers are dropped: their next payment sets them again. */
const MAX_LIMITED = 10_000
