import type { ChallengeRow, Subject, TransferTx } from '../../ports.ts'
import { DEFAULT_RESOURCE_ID } from '../../protocol/access.ts'
import type { Address } from '../../protocol/hex.ts'
import { parseChallengeId } from '../../rules/challenge-id.ts'
import { routeSubject } from '../../rules/terms.ts'
import { microDollars } from '../../rules/token-amount.ts'
import type { Core } from '../core.ts'
import type { Intent } from '../outcome.ts'
import type { OpenRail } from '../rails.ts'
import { provenDraft } from './proven-draft.ts'

/** Does this request repeat enough of its offer for {@link rebuildPaidOffer}? */
export const repeatsOffer = (intent: Intent): boolean =>
  intent.requestId !== undefined && subjectOf(intent) !== undefined

/**
 * The offer that a transfer paid, if no record of it is stored: one that nobody pays is deleted, and its buyer may prove
 * the transfer later. It is rebuilt from what the buyer repeats and from the value that was sent; its id proves both. The
 * catalog is not asked, because the price may have changed since, or the plan be gone.
 */
export function rebuildPaidOffer(
  core: Core,
  intent: Intent,
  rail: OpenRail,
  transfers: TransferTx['transfers'],
): ChallengeRow | undefined {
  const { challengeId, requestId, routeId, clientAgentId } = intent
  const subject = subjectOf(intent)
  const parsed = parseChallengeId(challengeId ?? '')
  if (challengeId === undefined || !parsed || !subject) return undefined
  const isMetered = routeId !== undefined && core.config.catalog.routes.get(routeId)?.isMetered
  const wallets = [rail.payTo, ...formerWallets(core, rail, parsed)]
  const values = new Set(transfers.filter(({ to }) => wallets.includes(to)).map(({ value }) => value))
  for (const value of values) {
    const amount = microDollars(rail.network.token, value)
    if (amount === undefined) continue
    const item = { amount, ...(isMetered && { isMetered }), description: '', credits: 0 }
    const draft = provenDraft(core, { subject, item }, { challengeId, requestId, amount, clientAgentId })
    if (!draft) continue
    // What it granted is not known any more: it grants what the plan does now.
    const { credits: _, ...row } = draft
    return row
  }
  return undefined
}

/** What offers that expire then may have named on this rail, before the seller replaced it. */
export function formerWallets(
  { config }: Core,
  { network }: OpenRail,
  { expiresAt }: Pick<ChallengeRow, 'expiresAt'>,
): Address[] {
  const former = config.formerOffers?.wallets ?? []
  return former
    .filter((wallet) => wallet.network === network.id && expiresAt <= wallet.lastExpiry)
    .map(({ payTo }) => payTo)
}

function subjectOf({ planId, routeId, resourceId = DEFAULT_RESOURCE_ID, call }: Intent): Subject | undefined {
  if (planId !== undefined) return { kind: 'plan', planId, resourceId }
  return routeId === undefined || call === undefined ? undefined : routeSubject(routeId, resourceId, call)
}
