import type { ChallengeRow, LotRow, Put } from '../../ports.ts'
import { DAY_MS } from '../../protocol/duration.ts'

/** How long a lot is kept after its end. */
export const LOT_KEPT_MS = DAY_MS

/** Whose lots count together: those of one payer, for one plan and one resource. No id contains the separator. */
export function accountOf(payer: string, planId: string, resourceId: string): string {
  return `${payer.toLowerCase()}/${planId}/${resourceId}`
}

/** What a challenge grants that is being delivered: a lot if it is a plan. */
export function lotsOf(challenge: ChallengeRow, expiresAt: number | null): Put[] {
  const lot = lotOf(challenge, expiresAt)
  return lot ? [{ table: 'lots', row: lot }] : []
}

export function lotOf(challenge: ChallengeRow, expiresAt: number | null): LotRow | undefined {
  const { key, kind, payer, itemId, resourceId, network } = challenge
  if (kind !== 'plan' || payer === null) return undefined
  return {
    key,
    version: 0,
    ref: accountOf(payer, itemId, resourceId),
    dueAt: expiresAt === null ? null : expiresAt + LOT_KEPT_MS,
    network,
    expiresAt,
  }
}
