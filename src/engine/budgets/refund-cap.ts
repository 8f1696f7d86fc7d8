import { GatewayError } from '../../errors.ts'
import type { AuthorizationRow, ChallengeRow, HoldRow, Put } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { alertOnce, type Core, getOne } from '../core.ts'
import { budgetOf, dayOf, newHold, putHold, secondsUntilTomorrow, spentHold, withinBudget } from './holds.ts'
import type { OverBudget } from './over-budget.ts'

/**
 * A call that the backend refuses is refunded, and we pay the gas: a buyer that makes calls fail on purpose would
 * spend our money. So a payer gets a limited number of undelivered calls a day (UTC), calls in flight included,
 * counted in the store for all instances.
 */
export function holdUndelivered(core: Core, challenge: ChallengeRow, payer: Address): HoldRow | undefined {
  if (core.config.payerUndeliveredPerDay === undefined || challenge.kind !== 'route') return undefined
  return newHold(core, budgetName(payer, core.clock.now()), challenge.key, 1)
}

const budgetName = (payer: Address, at: number): string => `undelivered:${payer}:${dayOf(at)}`

/** The claims that exceed their payer's cap. Refunds that are owed already are always paid. */
export async function refuseUndelivered(
  core: Core,
  attempts: readonly AuthorizationRow[],
): Promise<Map<string, OverBudget>> {
  const cap = core.config.payerUndeliveredPerDay
  const refused = new Map<string, OverBudget>()
  const claims = attempts.filter(({ phase, undelivered }) => phase === 'CLAIMED' && undelivered !== undefined)
  if (cap === undefined || claims.length === 0) return refused
  const own = new Set(claims.map(({ undelivered }) => undelivered!))
  await Promise.all(
    [...new Set([...own].map(budgetOf))].map(async (budget) => {
      const { over, spent } = await withinBudget(core, budget, cap, own)
      for (const claim of claims) {
        const verdict = over.get(claim.undelivered!)
        if (verdict) refused.set(claim.key, overCap(core, claim, verdict.later, spent))
      }
    }),
  )
  return refused
}

function overCap(core: Core, attempt: AuthorizationRow, later: boolean, spent: number): OverBudget {
  const { challengeId, payer } = attempt
  const details = { challengeId, retryAfterSeconds: 1 }
  if (later) {
    const message = `So many calls of ${payer} are in flight that no more are taken now. Nothing was charged.`
    return { later, error: new GatewayError('RATE_LIMITED', message, details) }
  }
  const now = core.clock.now()
  alertOnce(
    core,
    budgetName(payer, now),
    'refund-farming',
    `${spent} calls of ${payer} came to nothing today and are refunded; further calls of this payer are refused until tomorrow`,
  )
  const message =
    `${spent} calls that you paid today could not be delivered and are refunded to you. ` +
    'No more are sold to this payer until tomorrow (UTC). Nothing was charged.'
  const retryAfterSeconds = secondsUntilTomorrow(now)
  return {
    later,
    error: new GatewayError('RATE_LIMITED', message, { ...details, retryAfterSeconds }),
  }
}

/** Marks the hold of a paid but undelivered call as spent; the caller stores it in the same step as the failure. */
export async function countUndelivered(
  core: Core,
  challenge: ChallengeRow,
): Promise<{ puts: Put[]; change: Pick<ChallengeRow, 'undelivered'> }> {
  const { payer, undelivered } = challenge
  const nothing = { puts: [], change: {} }
  if (payer === null || core.config.payerUndeliveredPerDay === undefined) return nothing
  const held = undelivered === undefined ? undefined : await getOne(core, 'holds', undelivered)
  if (held?.spent) return nothing
  // There is no hold for a plain transfer, which was never claimed, nor if a failover lost it.
  const hold = held ?? newHold(core, budgetName(payer, core.clock.now()), challenge.key, 1)
  return { puts: [putHold(spentHold(core, hold))], change: { undelivered: hold.key } }
}
