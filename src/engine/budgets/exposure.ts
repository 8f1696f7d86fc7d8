import { GatewayError } from '../../errors.ts'
import type { AuthorizationRow, HoldRow } from '../../ports.ts'
import type { Address } from '../../protocol/hex.ts'
import type { Core } from '../core.ts'
import type { OpenRail } from '../rails.ts'
import { budgetOf, EXPOSURE_BUDGETS, leftByCrash, newHold, settleHolds } from './holds.ts'
import type { OverBudget } from './over-budget.ts'

/**
 * A metered call is made before its payment is settled. So what a payer's calls in flight may cost together stays
 * within what could be taken from it now: the maximum of each is held from the claim until its payment is decided.
 */
export function holdExposure(
  core: Core,
  { network }: OpenRail,
  { payer, key }: { payer: Address; key: string },
  units: string,
): HoldRow {
  return newHold(core, `${EXPOSURE_BUDGETS}${network.chainId}:${payer}`, key, Number(units))
}

/** Why this call is not made now; undefined if it may be. Asked after its hold is stored. */
export async function refuseExposure(
  core: Core,
  { exposure, payer, challengeId }: AuthorizationRow,
  /** Balance or allowance of the payer, whichever is less, in units of the token. */
  funds: string,
): Promise<OverBudget | undefined> {
  if (exposure === undefined) return undefined
  const details = { challengeId, retryAfterSeconds: 1 }
  const fits = (holds: readonly HoldRow[]): boolean =>
    totalOf(holds) <= Number(funds) && !holds.some(({ key, spent }) => spent && key !== exposure)
  const stored = await core.store.list('holds', budgetOf(exposure))
  if (fits(stored)) return undefined
  // Before somebody is refused for the sake of others: are they still under way?
  const left = await leftByCrash(
    core,
    stored.filter(({ key }) => key !== exposure),
  )
  await settleHolds(core, [...left], 'returned')
  const holds = stored.filter(({ key }) => !left.has(key))
  if (fits(holds)) return undefined
  if (holds.some(({ key, spent }) => spent && key !== exposure)) {
    const message = `An earlier metered call of ${payer} was answered and could not be charged: restore its balance or its allowance for Permit2, and send that payment again. Nothing was called or charged now.`
    return {
      later: false,
      error: new GatewayError('RATE_LIMITED', message, { ...details, retryAfterSeconds: 30 }),
    }
  }
  const message = `The calls of ${payer} that are under way may cost ${totalOf(holds)} together, and its balance and allowance for Permit2 cover ${funds}. Nothing was called or charged.`
  return { later: true, error: new GatewayError('RATE_LIMITED', message, details) }
}

const totalOf = (holds: readonly HoldRow[]): number => holds.reduce((sum, { amount }) => sum + amount, 0)
