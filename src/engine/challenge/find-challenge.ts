import { GatewayError } from '../../errors.ts'
import type { AuthorizationRow, ChallengeRow, Put } from '../../ports.ts'
import { findSubject } from '../../rules/catalog.ts'
import { putChallenge } from '../apply-event.ts'
import { type Core, getOne } from '../core.ts'
import type { EchoedIds, Intent, Payment } from '../outcome.ts'
import { challengeNotFound, otherPurchase, paidAnother, settlementPending } from '../refusals.ts'
import { challengeOfRequest, draftChallenge, requestPointer } from './open-challenge.ts'
import { currentPrice } from './price-call.ts'
import { provenDraft, type Sold } from './proven-draft.ts'
import {
  generateRequestId,
  isAnotherRequest,
  isGenerated,
  isSameCall,
  nameOfPayment,
  namesAnother,
  renamed,
  takesName,
} from './request-names.ts'
import { subjectFingerprint } from './subject-fingerprint.ts'

export type PaidIntent = Intent & { payment: Payment }

/** The challenge that a payment is for, not yet claimed by this payment. */
export interface OpenChallenge {
  kind: 'open'
  challenge: ChallengeRow
  /** Rows to store with the claim: the challenge was not stored yet, or gets another requestId. */
  inserts: Put[]
  /**
   * It was not looked up in the store. Only a successful claim shows that it was not stored; a refusal must look it
   * up first.
   */
  lookupSkipped?: boolean
  /** The attempt of this payment that was released before. */
  released?: AuthorizationRow | undefined
}

/** How a payment finds its challenge. */
export type Found =
  /** This payment was claimed before, for this challenge. */
  | { kind: 'bound'; attempt: AuthorizationRow; challenge: ChallengeRow }
  | OpenChallenge
  | { kind: 'failed'; error: GatewayError }

const fail = (error: GatewayError): Found => ({ kind: 'failed', error })
const invalid = (message: string): Found => fail(new GatewayError('INVALID_REQUEST', message))
const open = (challenge: ChallengeRow, inserts: Put[] = []): OpenChallenge => ({
  kind: 'open',
  challenge,
  inserts,
})

/** With `skipLookup`, a challenge that is almost certainly not stored yet is not looked up. */
export async function findChallenge(core: Core, intent: PaidIntent, skipLookup: boolean): Promise<Found> {
  const { payment } = intent
  const attempt = await getOne(core, 'authorizations', payment.key)
  // Checked first: a payment that is bound to another challenge gets that answer, whatever else is wrong with the
  // request.
  if (attempt && attempt.phase !== 'RELEASED') return findBound(core, intent, attempt)
  const named = mergeIds(intent, payment.echo)
  if ('contradiction' in named) {
    const { contradiction } = named
    return invalid(`${contradiction} in the request differs from accepted.extra.${contradiction}.`)
  }
  const sold = findSubject(core.config.catalog, { ...named, call: intent.call })
  if (sold instanceof GatewayError) return fail(sold)
  const found =
    (skipLookup && unstored(core, intent, named, sold)) ||
    (await byNameOfPayment(core, intent, sold)) ||
    (named.challengeId === undefined
      ? await byRequestId(core, intent, named.requestId, sold)
      : await byChallengeId(core, intent, named, named.challengeId, sold))
  return found.kind === 'open' ? { ...found, released: attempt } : found
}

async function findBound(core: Core, intent: PaidIntent, attempt: AuthorizationRow): Promise<Found> {
  const challenge = await getOne(core, 'challenges', attempt.challengeId)
  // Released and deleted between the two reads by an instance whose clock is ahead, or lost in a failover.
  if (!challenge) return fail(pendingFor(intent, attempt))
  const { echo, paymentId } = intent.payment
  const name = { requestId: paymentId }
  // A payment that found its sale by its name repeats a later offer of the same thing.
  const isNamed = paymentId !== undefined && !namesAnother(name, challenge)
  const told = ({ planId, routeId, resourceId, ...offer }: EchoedIds): EchoedIds => {
    return { planId, routeId, resourceId, ...(!isNamed && offer) }
  }
  const elsewhere =
    [told(intent), told(echo), name].some((ids) => namesAnother(ids, challenge)) ||
    !isSameCall(intent, challenge)
  return elsewhere ? fail(paidAnother(keyTold(intent, attempt))) : { kind: 'bound', attempt, challenge }
}

/** Its outcome is not known yet. */
export function pendingFor(
  intent: PaidIntent,
  attempt: Pick<AuthorizationRow, 'challengeId' | 'saltHash'>,
): GatewayError {
  const key = keyTold(intent, attempt)
  return settlementPending(key === undefined ? undefined : { key })
}

/**
 * A used payment is public. So its challenge, by which one sees what was bought, is told only to those who know it; and
 * where the payment has no salt, as nothing else would help its buyer.
 */
export function keyTold(
  { challengeId, payment }: PaidIntent,
  attempt: Pick<AuthorizationRow, 'challengeId' | 'saltHash'>,
): string | undefined {
  const { challengeId: own, saltHash } = attempt
  return saltHash === null || challengeId === own || payment.echo.challengeId === own ? own : undefined
}

const IDS = ['planId', 'routeId', 'requestId', 'resourceId', 'challengeId'] as const

/** Merges the ids of the request with those of the offer that it repeats; they must not contradict each other. */
function mergeIds(intent: Intent, echo: EchoedIds): EchoedIds | { contradiction: string } {
  const merged: EchoedIds = {}
  for (const id of IDS) {
    if (intent[id] !== undefined && echo[id] !== undefined && intent[id] !== echo[id]) {
      return { contradiction: id }
    }
    merged[id] = intent[id] ?? echo[id]
  }
  return merged
}

/**
 * A challenge with a generated requestId was not stored when it was offered, and no other request can have named it.
 */
function unstored(core: Core, intent: PaidIntent, named: EchoedIds, sold: Sold): Found | undefined {
  const { challengeId, requestId } = named
  if (challengeId === undefined || !isGenerated(requestId) || nameOfPayment(intent) !== undefined)
    return undefined
  const challenge = provenDraft(core, sold, echoOf(intent, challengeId, requestId))
  return challenge && { ...open(challenge, [requestPointer(challenge)]), lookupSkipped: true }
}

function echoOf({ payment, clientAgentId }: PaidIntent, challengeId: string, requestId: string | undefined) {
  return { challengeId, requestId, amount: payment.echoedAmount, clientAgentId }
}

const isClosed = ({ state }: ChallengeRow): boolean => state === 'EXPIRED' || state === 'CANCELLED'

/**
 * If the payment's name was used before, this is the same purchase signed again and must not be charged twice. If
 * that challenge ended unpaid, the name is free again.
 */
async function byNameOfPayment(
  core: Core,
  intent: PaidIntent,
  { subject }: Sold,
): Promise<Found | undefined> {
  const name = nameOfPayment(intent)
  const known = name === undefined ? undefined : (await challengeOfRequest(core, name))?.challenge
  if (!known || isClosed(known)) return undefined
  if (known.fingerprint !== subjectFingerprint(subject)) return fail(otherPurchase(known))
  // The name already points to this challenge.
  return open(takesName(known, intent.claimRequestId) ? renamed(known, name) : known)
}

async function byChallengeId(
  core: Core,
  intent: PaidIntent,
  named: EchoedIds,
  challengeId: string,
  sold: Sold,
): Promise<Found> {
  const known = await getOne(core, 'challenges', challengeId)
  if (known) return byStoredChallenge(core, intent, named.requestId, known, sold)
  const draft = provenDraft(core, sold, echoOf(intent, challengeId, named.requestId))
  if (!draft) {
    return fail(challengeNotFound(challengeId))
  }
  return insertNamed(core, intent, renamed(draft, nameOfPayment(intent)))
}

async function byStoredChallenge(
  core: Core,
  intent: PaidIntent,
  requestId: string | undefined,
  known: ChallengeRow,
  { subject }: Sold,
): Promise<Found> {
  const { paymentId } = intent.payment
  if (isAnotherRequest(requestId, known)) {
    return invalid(`requestId ${requestId} does not belong to challenge ${known.key}.`)
  }
  if (known.fingerprint !== subjectFingerprint(subject)) return fail(otherPurchase(known))
  if (isAnotherRequest(paymentId, known) && !isClosed(known)) {
    const nameable = isGenerated(known.requestId) && known.state === 'PENDING' && known.liveAuth === null
    if (!nameable) return twoNames(paymentId, known.requestId)
    return insertNamed(core, intent, renamed(known, paymentId))
  }
  if (takesName(known, intent.claimRequestId)) {
    return insertNamed(core, intent, renamed(known, intent.claimRequestId))
  }
  return open(known)
}

function twoNames(paymentId: string | undefined, requestId: string): Found {
  return invalid(
    `payment-identifier ${paymentId} differs from requestId ${requestId}; send the same, or one.`,
  )
}

/**
 * A challenge that gets its requestId with the claim, and the pointer of that requestId. A name given by the payment
 * may be moved here from a closed challenge.
 */
async function insertNamed(core: Core, intent: PaidIntent, challenge: ChallengeRow): Promise<Found> {
  const earlier = await challengeOfRequest(core, challenge.requestId)
  // It is this challenge's own pointer: another request is storing it now, and the claim will be tried again.
  if (!earlier || earlier.challenge.key === challenge.key) return open(challenge, [requestPointer(challenge)])
  if (nameOfPayment(intent) !== challenge.requestId || !isClosed(earlier.challenge)) {
    return invalid(`requestId ${challenge.requestId} belongs to another challenge.`)
  }
  // The old challenge is part of the step, so that its pointer cannot be deleted and created again in between.
  return open(challenge, [requestPointer(challenge, earlier.pointer), putChallenge(earlier.challenge)])
}

async function byRequestId(
  core: Core,
  intent: PaidIntent,
  requestId: string | undefined,
  sold: Sold,
): Promise<Found> {
  const { subject } = sold
  const { paymentId } = intent.payment
  if (requestId !== undefined && paymentId !== undefined && requestId !== paymentId) {
    return twoNames(paymentId, requestId)
  }
  const known = requestId === undefined ? undefined : (await challengeOfRequest(core, requestId))?.challenge
  if (known) {
    if (known.fingerprint !== subjectFingerprint(subject)) return fail(otherPurchase(known))
    return open(known)
  }
  const item = await currentPrice(core, sold, intent.call)
  if (item instanceof GatewayError) return fail(item)
  const id = requestId ?? nameOfPayment(intent) ?? generateRequestId(core)
  return insertNamed(core, intent, draftChallenge(core, intent, subject, item, id))
}
