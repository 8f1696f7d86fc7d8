import { GatewayError } from '../errors.ts'
import type { ChallengeRow, Put, SeenRow } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { type Core, getOne } from './core.ts'

const DAY_MS = 24 * 3_600_000
const MAX_TOLD = 1000

const dayOf = (at: number): number => Math.floor(at / DAY_MS)
const groupOf = (payer: Address, at: number): string => `undelivered:${payer}:${dayOf(at)}`
const keyOf = (challengeId: string): string => `undelivered:${challengeId}`

/**
 * A call that the backend refuses is refunded, and the gas is ours: who makes calls fail on purpose would spend our
 * money with theirs. So a payer gets so many undelivered calls a day (UTC), counted in the store for all instances.
 */
export interface RefundCap {
  /** Asked before anything is claimed or sent; refunds that are owed already are always paid. */
  refusal(challenge: ChallengeRow, payer: Address): Promise<GatewayError | undefined>
}

export function createRefundCap(core: Core): RefundCap {
  const told = new Set<string>()
  return {
    async refusal(challenge, payer) {
      const cap = core.config.payerUndeliveredPerDay
      if (cap === undefined || challenge.kind !== 'route') return undefined
      const now = core.clock.now()
      const group = groupOf(payer, now)
      const undelivered = await core.store.list('seen', group)
      if (undelivered.length < cap) return undefined
      if (!told.has(group)) {
        if (told.size >= MAX_TOLD) told.clear()
        told.add(group)
        const what = `${undelivered.length} calls of ${payer} came to nothing today and are refunded`
        core.alerts.raise('refund-farming', `${what}; further calls of this payer are refused until tomorrow`)
      }
      const message =
        `${undelivered.length} calls that you paid today could not be delivered and are refunded to you. ` +
        'No more are sold to this payer until tomorrow (UTC). Nothing was charged.'
      const retryAfterSeconds = Math.ceil(((dayOf(now) + 1) * DAY_MS - now) / 1000)
      return new GatewayError('RATE_LIMITED', message, { challengeId: challenge.key, retryAfterSeconds })
    },
  }
}

/** Counts a paid call that was not delivered; goes into the step that says so. */
export async function countUndelivered(core: Core, challenge: ChallengeRow, at: number): Promise<Put[]> {
  const { payer, receipt } = challenge
  const key = keyOf(challenge.key)
  if (payer === null || receipt === null || (await getOne(core, 'seen', key))) return []
  const row: SeenRow = { key, version: 0, ref: groupOf(payer, at), dueAt: null, receipt }
  return [{ table: 'seen', row }]
}

/** A retry delivered it after all: it no longer counts. */
export async function uncountUndelivered(core: Core, challenge: ChallengeRow) {
  // Most calls are delivered at the first try, and need no look.
  const row = challenge.failure === null ? undefined : await getOne(core, 'seen', keyOf(challenge.key))
  return row ? [{ table: 'seen' as const, key: row.key, version: row.version }] : []
}
