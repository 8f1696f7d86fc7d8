import { GatewayError } from '../../errors.ts'
import type { AuthorizationRow, ChallengeRow, HoldRow, Put } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import { SETTLEMENT_GAS } from '../../rules/gas-cost.ts'
import { alertOnce, type Core, commit, getOne } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import { gasCostOn } from './gas-price.ts'
import {
  budgetOf,
  dayOf,
  newHold,
  putHold,
  secondsUntilTomorrow,
  settleHolds,
  spentHold,
  withinBudget,
} from './holds.ts'
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
  const told = tellFarming(core, payer, losses)
  const message = `${told} No more are sold to this payer until tomorrow (UTC). Nothing was charged.`
  const retryAfterSeconds = secondsUntilTomorrow(core.clock.now())
  return {
    later,
    error: new GatewayError('RATE_LIMITED', message, { ...details, retryAfterSeconds }),
  }
}

/** Tells the operator, and returns what the payer is told. */
function tellFarming(core: Core, payer: Address, losses: number): string {
  alertOnce(
    core,
    budgetName(payer, core.clock.now()),
    'refund-farming',
    `${losses} calls of ${payer} came to nothing today and are refunded; further calls of this payer are refused until tomorrow`,
  )
  return `${losses === 1 ? 'A call that you paid today could not be delivered and is' : `${losses} calls that you paid today could not be delivered and are`} refunded to you.`
}

/** May a call be made that is paid already? `undelivered`: its hold, to be stored with its lease. */
export type Admission =
  | { kind: 'admitted'; undelivered?: string }
  /** Other calls of its payer are in flight, and may make room. */
  | { kind: 'later' }
  | { kind: 'refused'; told: string }

/** A plain transfer was never claimed, so its call gets its hold before it is made. */
export async function admitUnclaimed(core: Core, challenge: ChallengeRow): Promise<Admission> {
  const { payer, undelivered } = challenge
  const cap = core.config.payerUndeliveredPerDay
  if (cap === undefined || payer === null || undelivered !== undefined) return { kind: 'admitted' }
  // Calls that hold at once would all be refused for the sake of each other.
  return core.payers.inTurn(payer, async () => {
    const hold = await holdFor(core, challenge, payer)
    await commit(core, { puts: [putHold(hold)], durability: 'deferred' })
    const { over, losses } = await withinBudget(core, budgetOf(hold.key), cap, new Set([hold.key]))
    const verdict = over.get(hold.key)
    if (!verdict) return { kind: 'admitted', undelivered: hold.key }
    await settleHolds(core, [hold.key], 'returned')
    return verdict.later ? { kind: 'later' } : { kind: 'refused', told: tellFarming(core, payer, losses) }
  })
}

async function holdFor(core: Core, { key, rail: id }: ChallengeRow, payer: Address): Promise<HoldRow> {
  const rail = core.rails.find(id)
  const weight = rail ? await weightOn(rail) : 1
  return newHold(core, budgetName(payer, core.clock.now()), key, weight)
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
  // There is no hold for a plain transfer whose call was never made, nor if a failover lost it.
  const hold = held ?? (await holdFor(core, challenge, payer))
  return { puts: [putHold(spentHold(core, hold))], change: { undelivered: hold.key } }
}
