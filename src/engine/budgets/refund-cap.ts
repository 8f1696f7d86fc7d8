import { GatewayError } from '../../errors.ts'
import type { AuthorizationRow, ChallengeRow, HoldRow, Put } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { SETTLEMENT_GAS } from '../../rules/gas-cost.ts'
import { alertOnce, type Core, getOne } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import { gasCostOn } from './gas-price.ts'
import { budgetOf, dayOf, newHold, putHold, secondsUntilTomorrow, spentHold, withinBudget } from './holds.ts'
import type { OverBudget } from './over-budget.ts'

/** An undelivered call counts as one for every so many micro-dollars of gas that it costs us: 5 cents. */
const GAS_PER_CALL_MICRO = 50_000
/** It is settled, and refunded. */
const UNDELIVERED_GAS = 2 * SETTLEMENT_GAS

/**
 * A call that the backend refuses is refunded, and we pay the gas: a buyer that makes calls fail on purpose would
 * spend our money. So a payer gets a limited number of undelivered calls a day (UTC), calls in flight included,
 * counted in the store for all instances. Where gas is expensive a call counts as several.
 */
export async function holdUndelivered(
  core: Core,
  rail: OpenRail,
  challenge: ChallengeRow,
  payer: Address,
): Promise<HoldRow | undefined> {
  if (core.config.payerUndeliveredPerDay === undefined || challenge.kind !== 'route') return undefined
  return newHold(core, budgetName(payer, core.clock.now()), challenge.key, await weightOn(rail))
}

async function weightOn(rail: OpenRail): Promise<number> {
  return Math.max(1, Math.ceil((await gasCostOn(rail, UNDELIVERED_GAS)) / GAS_PER_CALL_MICRO))
}

/** One budget for all chains: the same payer does not get more by paying on several. */
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
      const { over, losses } = await withinBudget(core, budget, cap, own)
      for (const claim of claims) {
        const verdict = over.get(claim.undelivered!)
        if (verdict) refused.set(claim.key, overCap(core, claim, verdict.later, losses))
      }
    }),
  )
  return refused
}

function overCap(core: Core, attempt: AuthorizationRow, later: boolean, losses: number): OverBudget {
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
    `${losses} calls of ${payer} came to nothing today and are refunded; further calls of this payer are refused until tomorrow`,
  )
  const message =
    `${losses === 1 ? 'A call that you paid today could not be delivered and is' : `${losses} calls that you paid today could not be delivered and are`} refunded to you. ` +
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
  const rail = core.rails.find(challenge.rail)
  const weight = rail ? await weightOn(rail) : 1
  const hold = held ?? newHold(core, budgetName(payer, core.clock.now()), challenge.key, weight)
  return { puts: [putHold(spentHold(core, hold))], change: { undelivered: hold.key } }
}
