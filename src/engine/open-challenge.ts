import { GatewayError } from '../errors.ts'
import type { AuditEntry, ChallengeRow, Put, RequestRow, Subject } from '../ports.ts'
import { type CatalogItem, findSubject } from '../rules/catalog.ts'
import { CHALLENGE_RANDOM_BYTES, makeChallengeId } from '../rules/challenge-id.ts'
import { fingerprint, newChallenge, resourceHash, termsOf } from '../rules/terms.ts'
import { applyEvent, putChallenge } from './apply-event.ts'
import { type Core, commit, getOne, randomText, requireFor } from './core.ts'
import { endingEntries } from './log-unpaid.ts'
import type { Intent, Outcome } from './outcome.ts'
import { otherPurchase, refunded, settlementPending } from './refusals.ts'

const MAX_RACES = 8

/** A challenge at the current price that nobody has stored yet. */
export function draftChallenge(
  core: Core,
  intent: Pick<Intent, 'transport' | 'clientAgentId'>,
  subject: Subject,
  item: CatalogItem,
  requestId: string,
): ChallengeRow {
  const { transport, clientAgentId = null } = intent
  const { terms, key, createdAt, expiresAt } = draftTerms(core, transport, subject, item, requestId)
  return newChallenge(terms, { key, transport, createdAt, expiresAt, clientAgentId })
}

/** The id and what it proves: all that a 402 needs. */
function draftTerms(
  core: Core,
  transport: Intent['transport'],
  subject: Subject,
  item: CatalogItem,
  requestId: string,
) {
  const { config, clock } = core
  const terms = termsOf(
    subject,
    { amount: item.amount, asset: config.network.asset, network: config.network.id, payTo: config.payTo },
    requestId,
  )
  const createdAt = clock.now()
  // Whole seconds, as the id carries them: a record and its id must agree on when it expires.
  const expiresAt = Math.floor((createdAt + config.challengeTtlMs) / 1000) * 1000
  const random = core.random.bytes(CHALLENGE_RANDOM_BYTES)
  const key = makeChallengeId(config.idKeys[0]!, transport, expiresAt, random, terms)
  return { terms, key, createdAt, expiresAt }
}

export function requestPointer(challenge: ChallengeRow, previous?: RequestRow): Put {
  const version = previous?.version ?? 0
  const pointer = { key: challenge.requestId, version, ref: null, dueAt: null, challengeId: challenge.key }
  const row = { ...previous, ...pointer }
  return { table: 'requests', row }
}

/** Terms without a record: the id proves itself when it comes back. Undefined: this buyer's challenge is one to store. */
export function offerTerms(core: Core, intent: Intent): Outcome | undefined {
  if (intent.payment || intent.proof || intent.requestId !== undefined || intent.transport === 'a2a')
    return undefined
  const sold = findSubject(core.config.catalog, intent)
  if (sold instanceof GatewayError) return { kind: 'failed', error: sold }
  const requestId = `req-${randomText(core, 16)}`
  const { terms, key } = draftTerms(core, intent.transport, sold.subject, sold.item, requestId)
  const { kind, itemId, resourceId, resource, amount, asset, payTo } = terms
  // Field by field, as everything that runs for every 402.
  const challenge = { key, requestId, kind, itemId, resourceId, resource, amount, asset, payTo }
  return { kind: 'challenge', required: requireFor(core, challenge, 'Payment required') }
}

/** Terms for a buyer who will come back to them by name: they are stored. */
export async function openChallenge(core: Core, intent: Intent): Promise<Outcome> {
  const sold = findSubject(core.config.catalog, intent)
  if (sold instanceof GatewayError) return { kind: 'failed', error: sold }
  const { subject, item } = sold
  const requestId = intent.requestId ?? `req-${randomText(core, 16)}`
  for (let race = 0; race < MAX_RACES; race++) {
    const known = await challengeOfRequest(core, requestId)
    const existing = known?.challenge
    const answer = existing && answerExisting(core, existing, subject)
    if (answer) return answer
    const draft = draftChallenge(core, intent, subject, item, requestId)
    const at = core.clock.now()
    const puts = [putChallenge(draft), requestPointer(draft, known?.pointer)]
    const audit: AuditEntry[] = []
    if (existing) {
      // The old challenge is part of the step even where it does not change: a pointer alone may be swept and made
      // anew at the same version, and two challenges would then share one requestId.
      const dueAt = sweepAt(core, existing)
      const facts = { at, actor: 'gateway' as const }
      const expired =
        existing.state === 'PENDING' ? applyEvent(existing, 'expired', facts, { dueAt }) : undefined
      puts.push(putChallenge(expired?.row ?? existing))
      audit.push(...endingEntries(core, existing, expired?.audit ?? []))
    }
    if (await commit(core, { puts, audit })) {
      return { kind: 'challenge', required: requireFor(core, draft, 'Payment required') }
    }
  }
  const error = new GatewayError('INTERNAL_ERROR', `Too many requests at once for requestId ${requestId}.`)
  return { kind: 'failed', error }
}

/** The newest challenge of a request. Pointer and challenge are swept in one step, so one without the other is a race. */
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

/** When an expired challenge may be forgotten; never, once a payment was claimed for it. */
export function sweepAt(core: Core, challenge: ChallengeRow): number | null {
  return challenge.claimed ? null : challenge.expiresAt + core.config.challengeTtlMs
}

/** PENDING → EXPIRED. False: somebody else was first. */
export async function expireChallenge(core: Core, challenge: ChallengeRow): Promise<boolean> {
  const facts = { at: core.clock.now(), actor: 'gateway' as const }
  const { row, audit } = applyEvent(challenge, 'expired', facts, { dueAt: sweepAt(core, challenge) })
  return commit(core, { puts: [putChallenge(row)], audit: endingEntries(core, challenge, audit) })
}

/** What an unpaid request learns of a challenge that exists; undefined when a new one must be opened. */
function answerExisting(core: Core, challenge: ChallengeRow, subject: Subject): Outcome | undefined {
  if (challenge.fingerprint !== subjectFingerprint(subject))
    return { kind: 'failed', error: otherPurchase(challenge) }
  switch (challenge.state) {
    case 'PENDING':
      if (challenge.liveAuth !== null) return { kind: 'failed', error: settlementPending(challenge) }
      if (core.clock.now() >= challenge.expiresAt) return undefined
      return { kind: 'challenge', required: requireFor(core, challenge, 'Payment required') }
    case 'PAID':
    case 'DELIVERED': {
      const error =
        'This request is paid. Resend the payload that paid it, or any new authorization of the same payer: ' +
        'it fetches the result and is not charged.'
      return { kind: 'challenge', required: requireFor(core, challenge, error) }
    }
    case 'EXPIRED':
    case 'CANCELLED':
      return undefined
    case 'REFUND_PENDING':
    case 'REFUNDED':
    case 'REFUND_FAILED':
      return { kind: 'failed', error: refunded(challenge) }
    default:
      // A state that a newer version stored: an instance of that version knows the answer.
      return { kind: 'failed', error: settlementPending(challenge) }
  }
}

export function subjectFingerprint(subject: Subject): string {
  const itemId = subject.kind === 'plan' ? subject.planId : subject.routeId
  return fingerprint({
    kind: subject.kind,
    itemId,
    resourceId: subject.resourceId,
    resourceHash: resourceHash(subject),
  })
}
