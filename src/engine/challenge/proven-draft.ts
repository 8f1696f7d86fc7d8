import type { ChallengeRow, Subject } from '../../ports.ts'
import { UintString } from '../../protocol/amount.ts'
import { type CatalogItem, grantedBy } from '../../rules/catalog.ts'
import { parseChallengeId, provesTerms, requestIdOfOffer } from '../../rules/challenge-id.ts'
import { newChallenge, type Terms, termsOf } from '../../rules/terms.ts'
import type { Core, EngineConfig } from '../core.ts'
import { railTermsOf } from '../rails.ts'

/** What a request wants to buy, found in the catalog. */
export interface Sold {
  subject: Subject
  item: CatalogItem
}

/** The parts of an offer that a buyer repeats, if the offer was not stored. */
export interface Echo {
  challengeId: string
  /** Absent: the one that was generated with the offer. */
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
  { subject, item }: { subject: Subject; item: CatalogItem },
  echo: Echo,
): ChallengeRow | undefined {
  const { config, rails } = core
  const { challengeId, amount: echoed, clientAgentId = null } = echo
  const parsed = parseChallengeId(challengeId)
  if (!parsed) return undefined
  const { requestId = requestIdOfOffer(parsed) } = echo
  // The catalog's price first; the repeated one only if the id proves that we once asked it.
  const amounts =
    echoed !== undefined && UintString.safeParse(echoed).success ? [item.amount, echoed] : [item.amount]
  const credits = grantedBy(subject, item)
  for (const amount of amounts) {
    const terms = termsOf(subject, amount, requestId, credits)
    const proves = (what: Terms): boolean => provesTerms(config.idKeys, parsed, what, rails.terms)
    // An id that names no credits (of an earlier version, of A2A, or of when the plan had none) buys those of now at the price of now.
    const unnamed = credits > 0 && amount === item.amount
    if (!proves(terms) && !(unnamed && proves({ ...terms, credits: 0 }))) continue
    const { transport, expiresAt } = parsed
    const createdAt = expiresAt - longestTtl(config, expiresAt)
    const known = { key: challengeId, transport, createdAt, expiresAt, clientAgentId }
    return newChallenge(terms, railTermsOf(rails.preferredFor(item)), known)
  }
  return undefined
}

/** The longest time for which an offer that expires then can have been valid: the id does not say when it was made. */
function longestTtl({ challengeTtlMs, formerOffers }: EngineConfig, expiresAt: number): number {
  const former = formerOffers?.ttls.filter(({ lastExpiry }) => expiresAt <= lastExpiry) ?? []
  return Math.max(challengeTtlMs, ...former.map(({ ttlMs }) => ttlMs))
}
