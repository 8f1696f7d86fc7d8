import type { GatewayError } from '../../errors.ts'
import type { ChallengeRow, CreditRow, LotRow } from '../../ports.ts'
import { DEFAULT_RESOURCE_ID } from '../../protocol/access.ts'
import { type Core, getOne, settledPayment } from '../core.ts'
import { unspentOf } from '../credits/credit-rows.ts'
import { keptResult } from '../deliver/settled-outcome.ts'
import type { Granted, OwnedAccess, Wallet } from '../outcome.ts'
import { endedPurchase } from '../refusals.ts'
import { accountOf } from './lots.ts'

/**
 * The access that this wallet bought and still has: of several, the one that ends last. Undefined: it has none.
 * Nothing is made or charged; the credential is the one of the purchase, with its own expiry. Who is `buying` gets it
 * only while its credits suffice for some call: otherwise it wants more of them.
 */
export async function findOwned(
  core: Core,
  wallet: Wallet,
  { planId, resourceId = DEFAULT_RESOURCE_ID }: OwnedAccess,
  buying = false,
): Promise<Granted | undefined> {
  const plans = planId === undefined ? [...core.config.catalog.plans.keys()] : [planId]
  const listed = plans.map(async (plan) => {
    const account = accountOf(wallet.account, plan, resourceId)
    const [lots, credits] = await Promise.all([
      core.store.list('lots', account),
      buying ? core.store.list('credits', account) : [],
    ])
    return buying ? lots.filter(({ key }) => !isSpent(core, wallet, credits, key)) : lots
  })
  const lots = (await Promise.all(listed)).flat().filter((lot) => isRunning(core, wallet, lot))
  lots.sort((one, other) => endOf(other) - endOf(one))
  for (const { key } of lots) {
    const challenge = await getOne(core, 'challenges', key)
    if (!challenge || !(await isOwned(core, wallet, challenge))) continue
    const kept = await keptResult(core, challenge)
    // Retention has removed a credential that only the seller could make.
    if (!kept) continue
    const grant = await core.delivery.open(kept.order, kept.result)
    return { kind: 'granted', grant, settled: settledPayment(challenge), cached: true }
  }
  return undefined
}

function isRunning(core: Core, { network }: Wallet, lot: LotRow): boolean {
  return core.clock.now() < endOf(lot) && (network === null || network === lot.network)
}

const endOf = ({ expiresAt }: LotRow): number => expiresAt ?? Number.POSITIVE_INFINITY

/**
 * Did this purchase grant credits, and is in its whole account, of which these are the rows, less left than the cheapest
 * call costs? What is reserved counts as left: its call may fail, and gives it back.
 */
function isSpent(
  { config, clock }: Core,
  { network }: Wallet,
  rows: readonly CreditRow[],
  purchase: string,
): boolean {
  if (!rows.some(({ key }) => key === purchase)) return false
  const costs = [...config.catalog.routes.values()].flatMap(({ credits }) => (credits > 0 ? [credits] : []))
  // More credits would be of no use, and the token may open the plan's resource.
  if (costs.length === 0) return false
  const now = clock.now()
  const usable = rows.filter((row) => network === null || row.network === network)
  const left = usable.reduce((sum, row) => sum + unspentOf(row, now), 0)
  return left < Math.min(...costs)
}

/** The lot says what was granted; only the challenge and what became of its payment say whether that still holds. */
async function isOwned(core: Core, { account }: Wallet, challenge: ChallengeRow): Promise<boolean> {
  if (challenge.state !== 'DELIVERED' || challenge.payer?.toLowerCase() !== account) return false
  const receipt = challenge.receipt === null ? undefined : await getOne(core, 'receipts', challenge.receipt)
  return receipt?.lost !== true && (await whyEnded(core, challenge.key)) === undefined
}

/** Why a purchase of credits grants nothing any more, although its token has not expired; undefined: it has not ended. */
export async function whyEnded(core: Core, purchase: string): Promise<GatewayError | undefined> {
  const row = await getOne(core, 'credits', purchase)
  return row && endedPurchase(row)
}
