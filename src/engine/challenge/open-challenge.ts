import { GatewayError } from '../../errors.ts'
import type { AuditEntry, ChallengeRow, Put, RequestRow, Subject } from '../../ports.ts'
import { MAX_PATH_CHARACTERS } from '../../protocol/access.ts'
import { type CatalogItem, findSubject, grantedBy } from '../../rules/catalog.ts'
import { CHALLENGE_RANDOM_BYTES, makeChallengeId, requestIdOf } from '../../rules/challenge-id.ts'
import { isMeteredRail } from '../../rules/rail-id.ts'
import { newChallenge, termsOf } from '../../rules/terms.ts'
import { applyEvent, putChallenge } from '../apply-event.ts'
import { type Core, commit, getOne, MAX_RACES, offerAgain, offerOf } from '../core.ts'
import type { Intent, Outcome } from '../outcome.ts'
import { railTermsOf } from '../rails.ts'
import { otherPurchase, refunded, settlementPending } from '../refusals.ts'
import { endingEntries } from './log-unpaid.ts'
import { currentPrice } from './price-call.ts'
import { generateRequestId } from './request-names.ts'
import { subjectFingerprint } from './subject-fingerprint.ts'

const PAYMENT_REQUIRED = 'Payment required'

/** A challenge at the current price that is not stored yet. */
export function draftChallenge(
  core: Core,
  intent: Pick<Intent, 'transport' | 'clientAgentId'>,
  subject: Subject,
  item: CatalogItem,
  requestId: string,
): ChallengeRow {
  const { transport, clientAgentId = null } = intent
  const { terms, key, createdAt, expiresAt } = draftTerms(core, transport, subject, item, requestId)
  return newChallenge(terms, railTermsOf(core.rails.preferredFor(item)), {
    key,
    transport,
    createdAt,
    expiresAt,
    clientAgentId,
  })
}

/** The id and the terms that it proves: a 402 needs nothing else. */
function draftTerms(
  core: Core,
  transport: Intent['transport'],
  subject: Subject,
  item: CatalogItem,
  named: string | undefined,
) {
  const { config, clock } = core
  const createdAt = clock.now()
  // Whole seconds, as in the id: a record and its id must agree on when it expires.
  const expiresAt = Math.floor((createdAt + config.challengeTtlMs) / 1000) * 1000
  const random = core.random.bytes(CHALLENGE_RANDOM_BYTES)
  const requestId = named ?? requestIdOf(random, expiresAt)
  const terms = termsOf(subject, item.amount, requestId, grantedBy(subject, item))
  // Over A2A an offer is always stored with what it grants. Its id proves the price alone, as that is all that a plain
  // transfer shows, which may arrive after the row is gone.
  const proven = transport === 'a2a' ? { ...terms, credits: 0 } : terms
  const key = makeChallengeId(config.idKeys[0]!, transport, expiresAt, random, proven)
  return { terms, key, createdAt, expiresAt }
}

export function requestPointer(challenge: ChallengeRow, previous?: RequestRow): Put {
  const version = previous?.version ?? 0
  const pointer = { key: challenge.requestId, version, ref: null, dueAt: null, challengeId: challenge.key }
  const row = { ...previous, ...pointer }
  return { table: 'requests', row }
}

/**
 * Terms that are not stored: the id proves them when the buyer repeats it. Undefined: this challenge must be stored, or
 * its price must be asked first, and `openChallenge` does it.
 */
export function offerTerms(core: Core, intent: Intent): Outcome | undefined {
  if (intent.payment || intent.proof || isStored(intent)) return undefined
  const sold = findSubject(core.config.catalog, intent)
  if (sold instanceof GatewayError) return { kind: 'failed', error: sold }
  const error = pathTooLong(intent)
  if (error) return { kind: 'failed', error }
  return sold.item.isComputed ? undefined : unstoredOffer(core, intent, sold.subject, sold.item)
}

/**
 * Why a call is not offered that nobody could pay for over HTTP: clients repeat its address with their payment. What was offered
 * before is not judged by it.
 */
function pathTooLong({ call }: Pick<Intent, 'call'>): GatewayError | undefined {
  if (!call || call.path.length * 2 <= MAX_PATH_CHARACTERS) return undefined
  // As JSON, in which a backslash is two.
  const length = JSON.stringify(call.path).length - 2
  if (length <= MAX_PATH_CHARACTERS) return undefined
  const message = `path and query of the call have ${length} characters, and a paid call may have ${MAX_PATH_CHARACTERS}; nothing was charged. Send a shorter query.`
  return new GatewayError('INVALID_REQUEST', message)
}

/** The buyer may return by the requestId or the task alone. */
const isStored = ({ requestId, transport }: Intent): boolean => requestId !== undefined || transport === 'a2a'

function unstoredOffer(core: Core, { transport }: Intent, subject: Subject, item: CatalogItem): Outcome {
  const { terms, key, expiresAt } = draftTerms(core, transport, subject, item, undefined)
  const { requestId, kind, itemId, resourceId, resource } = terms
  const challenge = { key, requestId, kind, itemId, resourceId, resource, expiresAt }
  return {
    kind: 'challenge',
    offer: offerOf(core, challenge, core.rails.offered(terms.amount, item.isMetered), PAYMENT_REQUIRED),
  }
}

/**
 * Terms for a buyer that may return by requestId or task, so the challenge is stored; and all terms whose price is
 * computed.
 */
export async function openChallenge(core: Core, intent: Intent): Promise<Outcome> {
  const sold = findSubject(core.config.catalog, intent)
  if (sold instanceof GatewayError) return { kind: 'failed', error: sold }
  const { subject } = sold
  let item: CatalogItem | undefined
  if (!isStored(intent)) {
    const priced = pathTooLong(intent) ?? (await currentPrice(core, sold, intent.call))
    if (priced instanceof GatewayError) return { kind: 'failed', error: priced }
    return unstoredOffer(core, intent, subject, priced)
  }
  const requestId = intent.requestId ?? generateRequestId(core)
  for (let race = 0; race < MAX_RACES; race++) {
    const known = await challengeOfRequest(core, requestId)
    const existing = known?.challenge
    const answer = existing && answerExisting(core, existing, sold)
    if (answer) return answer
    if (!item) {
      const priced = pathTooLong(intent) ?? (await currentPrice(core, sold, intent.call))
      if (priced instanceof GatewayError) return { kind: 'failed', error: priced }
      item = priced
    }
    const draft = draftChallenge(core, intent, subject, item, requestId)
    const at = core.clock.now()
    const puts = [putChallenge(draft), requestPointer(draft, known?.pointer)]
    const audit: AuditEntry[] = []
    if (existing) {
      // The old challenge is part of the step even if it does not change. A pointer alone may be deleted and created
      // again at the same version, and two challenges would then share one requestId.
      const dueAt = sweepAt(core, existing)
      const facts = { at, actor: 'gateway' as const }
      const expired =
        existing.state === 'PENDING' ? applyEvent(existing, 'expired', facts, { dueAt }) : undefined
      puts.push(putChallenge(expired?.row ?? existing))
      audit.push(...endingEntries(core, existing, expired?.audit ?? []))
    }
    if (await commit(core, { puts, audit })) {
      return { kind: 'challenge', offer: offerAgain(core, draft, PAYMENT_REQUIRED) }
    }
  }
  const error = new GatewayError('INTERNAL_ERROR', `Too many requests at once for requestId ${requestId}.`)
  return { kind: 'failed', error }
}

/**
 * The newest challenge of a request. Pointer and challenge are deleted in one step, so finding one without the other
 * is a race.
 */
export async function challengeOfRequest(
  core: Core,
  requestId: string,
): Promise<{ pointer: RequestRow; challenge: ChallengeRow } | undefined> {
  for (let race = 0; race < MAX_RACES; race++) {
    const pointer = await getOne(core, 'requests', requestId)
    if (!pointer) return undefined
    const challenge = await getOne(core, 'challenges', pointer.challengeId)
    if (challenge) return { pointer, challenge }
  }
  throw new Error(`requestId ${requestId} points to no stored challenge`)
}

/** When an expired challenge may be deleted; never, once a payment was claimed for it. */
export function sweepAt(core: Core, { claimed, expiresAt }: ChallengeRow): number | null {
  // One that is rebuilt for a late payment may have expired long ago.
  return claimed ? null : Math.max(expiresAt, core.clock.now()) + core.config.challengeTtlMs
}

/** PENDING → EXPIRED. False: another writer was first. */
export async function expireChallenge(core: Core, challenge: ChallengeRow): Promise<boolean> {
  const facts = { at: core.clock.now(), actor: 'gateway' as const }
  const { row, audit } = applyEvent(challenge, 'expired', facts, { dueAt: sweepAt(core, challenge) })
  return commit(core, { puts: [putChallenge(row)], audit: endingEntries(core, challenge, audit) })
}

/** The answer to a request without payment for an existing challenge; undefined if a new one must be opened. */
function answerExisting(
  core: Core,
  challenge: ChallengeRow,
  { subject, item }: { subject: Subject; item: CatalogItem },
): Outcome | undefined {
  if (challenge.fingerprint !== subjectFingerprint(subject))
    return { kind: 'failed', error: otherPurchase(challenge) }
  switch (challenge.state) {
    case 'PENDING':
      if (challenge.liveAuth !== null) return { kind: 'failed', error: settlementPending(challenge) }
      // It was metered, and is sold at a price by now: nobody takes its maximum any more.
      if (core.clock.now() >= challenge.expiresAt || (isMeteredRail(challenge.rail) && !item.isMetered))
        return undefined
      return { kind: 'challenge', offer: offerAgain(core, challenge, PAYMENT_REQUIRED) }
    case 'PAID':
    case 'DELIVERED': {
      const error =
        'This request is paid. Resend the payload that paid it, or any new authorization of the same payer: ' +
        'it fetches the result and is not charged.'
      return { kind: 'challenge', offer: offerAgain(core, challenge, error) }
    }
    case 'EXPIRED':
    case 'CANCELLED':
      return undefined
    case 'REFUND_PENDING':
    case 'REFUNDED':
    case 'REFUND_FAILED':
      return { kind: 'failed', error: refunded(challenge) }
    default:
      // A state that a newer version stored: only instances of that version know the answer.
      return { kind: 'failed', error: settlementPending(challenge) }
  }
}
