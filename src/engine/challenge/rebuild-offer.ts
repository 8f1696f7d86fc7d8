import type { ChallengeRow, Subject, TransferTx } from '../../ports.ts'
import { DEFAULT_RESOURCE_ID } from '../../protocol/access.ts'
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
  { network, payTo }: OpenRail,
  transfers: TransferTx['transfers'],
): ChallengeRow | undefined {
  const { challengeId, requestId, routeId, clientAgentId } = intent
  const subject = subjectOf(intent)
  if (challengeId === undefined || !subject) return undefined
  const isMetered = routeId !== undefined && core.config.catalog.routes.get(routeId)?.isMetered
  const values = new Set(transfers.filter(({ to }) => to === payTo).map(({ value }) => value))
  for (const value of values) {
    const amount = microDollars(network.token, value)
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

function subjectOf({ planId, routeId, resourceId = DEFAULT_RESOURCE_ID, call }: Intent): Subject | undefined {
  if (planId !== undefined) return { kind: 'plan', planId, resourceId }
  return routeId === undefined || call === undefined ? undefined : routeSubject(routeId, resourceId, call)
}
