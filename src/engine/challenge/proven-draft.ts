import type { ChallengeRow, Subject } from '../../ports.ts'
import { UintString } from '../../protocol/amount.ts'
import type { CatalogItem } from '../../rules/catalog.ts'
import { parseChallengeId, provesTerms } from '../../rules/challenge-id.ts'
import { newChallenge, termsOf } from '../../rules/terms.ts'
import type { Core } from '../core.ts'
import { railTermsOf } from '../rails.ts'

/** What a request wants to buy, found in the catalog. */
export interface Sold {
  subject: Subject
  item: CatalogItem
}

/** The parts of an offer that a buyer repeats, if the offer was not stored. */
export interface Echo {
  challengeId: string
  requestId: string | undefined
  /** Micro-dollars. */
  amount: string | undefined
  clientAgentId?: string | undefined
}

/**
 * Rebuilds a challenge from the repeated offer; the HMAC in its id proves that we issued it for exactly these terms.
 */
export function provenDraft(
  core: Core,
  { subject, item }: { subject: Subject; item: Pick<CatalogItem, 'amount' | 'isMetered'> },
  echo: Echo,
): ChallengeRow | undefined {
  const { config, rails } = core
  const { challengeId, requestId, amount: echoed, clientAgentId = null } = echo
  const parsed = parseChallengeId(challengeId)
  if (!parsed || requestId === undefined) return undefined
  // The catalog's price first; the repeated one only if the id proves that we once asked it.
  const amounts =
    echoed !== undefined && UintString.safeParse(echoed).success ? [item.amount, echoed] : [item.amount]
  for (const amount of amounts) {
    const terms = termsOf(subject, amount, requestId)
    if (!provesTerms(config.idKeys, parsed, terms, rails.terms)) continue
    const createdAt = parsed.expiresAt - config.challengeTtlMs
    const { transport, expiresAt } = parsed
    const known = { key: challengeId, transport, createdAt, expiresAt, clientAgentId }
    return newChallenge(terms, railTermsOf(rails.preferredFor(item)), known)
  }
  return undefined
}
