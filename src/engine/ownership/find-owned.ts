import type { ChallengeRow, LotRow } from '../../ports.ts'
import { DEFAULT_RESOURCE_ID } from '../../protocol/access.ts'
import { type Core, getOne, orderOf, settledPayment } from '../core.ts'
import { resultOf } from '../deliver/settled-outcome.ts'
import type { Granted, OwnedAccess, Wallet } from '../outcome.ts'
import { accountOf } from './lots.ts'

/**
 * The access that this wallet bought and still has: of several, the one that ends last. Undefined: it has none.
 * Nothing is made or charged; the credential is the one of the purchase, with its own expiry.
 */
export async function findOwned(
  core: Core,
  wallet: Wallet,
  { planId, resourceId = DEFAULT_RESOURCE_ID }: OwnedAccess,
): Promise<Granted | undefined> {
  const plans = planId === undefined ? [...core.config.catalog.plans.keys()] : [planId]
  const listed = plans.map((plan) => core.store.list('lots', accountOf(wallet.account, plan, resourceId)))
  const lots = (await Promise.all(listed)).flat().filter((lot) => isRunning(core, wallet, lot))
  lots.sort((one, other) => endOf(other) - endOf(one))
  for (const { key } of lots) {
    const challenge = await getOne(core, 'challenges', key)
    if (!challenge || !(await isOwned(core, wallet, challenge))) continue
    const result = resultOf(core, challenge)
    // Retention has removed a credential that only the seller could make.
    if (result === null) continue
    const grant = await core.delivery.open(orderOf(challenge), result)
    return { kind: 'granted', grant, settled: settledPayment(challenge), cached: true }
  }
  return undefined
}

function isRunning(core: Core, { network }: Wallet, lot: LotRow): boolean {
  return core.clock.now() < endOf(lot) && (network === null || network === lot.network)
}

const endOf = ({ expiresAt }: LotRow): number => expiresAt ?? Number.POSITIVE_INFINITY

/** The lot says what was granted; only the challenge and its receipt say whether that still holds. */
async function isOwned(core: Core, { account }: Wallet, challenge: ChallengeRow): Promise<boolean> {
  if (challenge.state !== 'DELIVERED' || challenge.payer?.toLowerCase() !== account) return false
  const receipt = challenge.receipt === null ? undefined : await getOne(core, 'receipts', challenge.receipt)
  return receipt?.lost !== true
}
