import { GatewayError } from '../errors.ts'
import type { AuthorizationRow, ChallengeRow, Put, Subject } from '../ports.ts'
import { UintString } from '../protocol/amount.ts'
import type { PaymentPayload } from '../protocol/payment.ts'
import { authorizationKey } from '../rules/authorization-key.ts'
import { type CatalogItem, findSubject } from '../rules/catalog.ts'
import { parseChallengeId, provesTerms } from '../rules/challenge-id.ts'
import { bodyHashOf, newChallenge, termsOf } from '../rules/terms.ts'
import { putChallenge } from './apply-event.ts'
import { type Core, getOne, randomText } from './core.ts'
import { challengeOfRequest, draftChallenge, requestPointer, subjectFingerprint } from './open-challenge.ts'
import type { Intent } from './outcome.ts'
import { alreadyRedeemed, otherPurchase, settlementPending } from './refusals.ts'

export type PaidIntent = Intent & { payment: PaymentPayload }

/** How a payment finds its challenge. */
export type Found =
  /** This very authorization was claimed before, for this challenge. */
  | { kind: 'bound'; attempt: AuthorizationRow; challenge: ChallengeRow }
  /**
   * `inserts` must be stored with the claim: the challenge has lived in its id alone so far. Where that is guessed, the
   * claim proves it, and nothing else may be concluded.
   */
  | {
      kind: 'open'
      challenge: ChallengeRow
      inserts: Put[]
      guessed?: boolean
      released?: AuthorizationRow | undefined
    }
  | { kind: 'failed'; error: GatewayError }

type Ids = Pick<Intent, 'planId' | 'routeId' | 'requestId' | 'resourceId' | 'challengeId'>

const fail = (error: GatewayError): Found => ({ kind: 'failed', error })
const invalid = (message: string): Found => fail(new GatewayError('INVALID_REQUEST', message))

export function attemptKey(core: Core, payment: PaymentPayload): string {
  const { network } = core.config
  const { from, nonce } = payment.payload.authorization
  return authorizationKey(network.chainId, network.asset, from, nonce)
}

/** With `guess`, a challenge that hardly anybody can have stored yet is not looked for. */
export async function findChallenge(core: Core, intent: PaidIntent, guess: boolean): Promise<Found> {
  const echo: Ids = intent.payment.accepted?.extra ?? {}
  const attempt = await getOne(core, 'authorizations', attemptKey(core, intent.payment))
  if (attempt && attempt.phase !== 'RELEASED') {
    const challenge = await getOne(core, 'challenges', attempt.challengeId)
    // Released and swept between the two reads, by an instance whose clock is ahead, or lost with a failover.
    if (!challenge) return fail(settlementPending({ key: attempt.challengeId }))
    const strangers =
      [intent, echo, { requestId: intent.paymentId }].some((ids) => namesAnother(ids, challenge)) ||
      !sameCall(intent, challenge)
    return strangers ? fail(alreadyRedeemed(challenge)) : { kind: 'bound', attempt, challenge }
  }
  const contradiction = (['planId', 'routeId', 'requestId', 'resourceId', 'challengeId'] as const).find(
    (id) => intent[id] !== undefined && echo[id] !== undefined && intent[id] !== echo[id],
  )
  if (contradiction)
    return invalid(`${contradiction} in the request differs from accepted.extra.${contradiction}.`)
  const named = { ...echo, ...definedIds(intent), call: intent.call }
  const sold = findSubject(core.config.catalog, named)
  if (sold instanceof GatewayError) return fail(sold)
  const found =
    (guess && unstored(core, intent, named, sold)) ||
    (await byOwnName(core, intent, sold)) ||
    (named.challengeId === undefined
      ? await byRequestId(core, intent, named.requestId, sold)
      : await byChallengeId(core, intent, named, named.challengeId, sold))
  return found.kind === 'open' ? { ...found, released: attempt } : found
}

export interface Sold {
  subject: Subject
  item: CatalogItem
}

/** A requestId that we made up because the buyer named none: the payment may bring a better one. */
const OUR_NAME = /^req-[A-Za-z0-9_-]{22}$/

function otherName({ paymentId }: Intent, requestId: string): Found {
  return invalid(
    `payment-identifier ${paymentId} differs from requestId ${requestId}; send the same, or one.`,
  )
}

/** We made up its name, so nobody could ask for it by name, and it was not stored when it was offered. */
function unstored(core: Core, intent: PaidIntent, named: Ids, sold: Sold): Found | undefined {
  const { challengeId, requestId } = named
  if (challengeId === undefined || !OUR_NAME.test(requestId ?? '') || ownName(intent) !== undefined)
    return undefined
  const challenge = provenDraft(core, named, challengeId, sold, echoOf(intent))
  return challenge && { kind: 'open', challenge, inserts: [requestPointer(challenge)], guessed: true }
}

/** What the payment calls itself, whatever the 402 called the request. */
const ownName = ({ paymentId, claimRequestId }: Intent): string | undefined => paymentId ?? claimRequestId

const isClosed = ({ state }: ChallengeRow): boolean => state === 'EXPIRED' || state === 'CANCELLED'

/**
 * A name that was used before: this is the same purchase again, signed anew, and must not be charged twice. One whose
 * challenge ended unpaid is free again.
 */
async function byOwnName(core: Core, intent: PaidIntent, { subject }: Sold): Promise<Found | undefined> {
  const name = ownName(intent)
  const known = name === undefined ? undefined : (await challengeOfRequest(core, name))?.challenge
  if (!known || isClosed(known)) return undefined
  if (known.fingerprint !== subjectFingerprint(subject)) return fail(otherPurchase(known))
  // The name leads here already.
  const challenge = takesName(known, intent.claimRequestId) ? renamed(known, name) : known
  return { kind: 'open', challenge, inserts: [] }
}

async function byChallengeId(
  core: Core,
  intent: PaidIntent,
  named: Ids,
  challengeId: string,
  sold: Sold,
): Promise<Found> {
  const known = await getOne(core, 'challenges', challengeId)
  if (known) {
    if (isAnotherRequest(named.requestId, known)) {
      return invalid(`requestId ${named.requestId} does not belong to challenge ${challengeId}.`)
    }
    if (known.fingerprint !== subjectFingerprint(sold.subject)) return fail(otherPurchase(known))
    if (isAnotherRequest(intent.paymentId, known) && !isClosed(known)) {
      const nameable = OUR_NAME.test(known.requestId) && known.state === 'PENDING' && known.liveAuth === null
      if (!nameable) return otherName(intent, known.requestId)
      return insertNamed(core, intent, renamed(known, intent.paymentId))
    }
    if (takesName(known, intent.claimRequestId)) {
      return insertNamed(core, intent, renamed(known, intent.claimRequestId))
    }
    return { kind: 'open', challenge: known, inserts: [] }
  }
  const draft = provenDraft(core, named, challengeId, sold, echoOf(intent))
  if (!draft) {
    const message = `challengeId ${challengeId.slice(0, 80)} was not issued by this gateway for this request.`
    return fail(new GatewayError('CHALLENGE_NOT_FOUND', message))
  }
  const challenge = renamed(draft, ownName(intent))
  return insertNamed(core, intent, challenge)
}

/** A challenge that gets its name with the claim, and the pointer of that name; a payment's own name may move on from a closed one. */
async function insertNamed(core: Core, intent: PaidIntent, challenge: ChallengeRow): Promise<Found> {
  const earlier = await challengeOfRequest(core, challenge.requestId)
  // Its own pointer: another request stores it this moment, and the claim will be tried again.
  if (!earlier || earlier.challenge.key === challenge.key) {
    return { kind: 'open', challenge, inserts: [requestPointer(challenge)] }
  }
  if (ownName(intent) !== challenge.requestId || !isClosed(earlier.challenge)) {
    return invalid(`requestId ${challenge.requestId} belongs to another challenge.`)
  }
  // The old challenge is part of the step, so that its pointer cannot be swept and made anew in between.
  const inserts = [requestPointer(challenge, earlier.pointer), putChallenge(earlier.challenge)]
  return { kind: 'open', challenge, inserts }
}

function echoOf({ payment, clientAgentId }: PaidIntent) {
  return { amount: payment.accepted?.amount, clientAgentId }
}

/** Rebuilds a challenge from the echo; the HMAC in its id proves that we issued it for exactly these terms. */
export function provenDraft(
  core: Core,
  named: Pick<Ids, 'requestId'>,
  challengeId: string,
  { subject, item }: Sold,
  echo: { amount?: string | undefined; clientAgentId?: string | undefined },
): ChallengeRow | undefined {
  const { config } = core
  const { amount: echoed, clientAgentId = null } = echo
  const parsed = parseChallengeId(challengeId)
  if (!parsed || named.requestId === undefined) return undefined
  // The catalog's price first; an echoed one only if the id proves that we once asked it.
  const amounts =
    echoed !== undefined && UintString.safeParse(echoed).success ? [item.amount, echoed] : [item.amount]
  for (const amount of amounts) {
    const price = { amount, asset: config.network.asset, network: config.network.id, payTo: config.payTo }
    const terms = termsOf(subject, price, named.requestId)
    if (!provesTerms(config.idKeys, parsed, terms)) continue
    const createdAt = parsed.expiresAt - config.challengeTtlMs
    const { transport, expiresAt } = parsed
    return newChallenge(terms, { key: challengeId, transport, createdAt, expiresAt, clientAgentId })
  }
  return undefined
}

async function byRequestId(
  core: Core,
  intent: PaidIntent,
  requestId: string | undefined,
  { subject, item }: Sold,
): Promise<Found> {
  if (requestId !== undefined && intent.paymentId !== undefined && requestId !== intent.paymentId) {
    return otherName(intent, requestId)
  }
  const known = requestId === undefined ? undefined : (await challengeOfRequest(core, requestId))?.challenge
  if (known) {
    if (known.fingerprint !== subjectFingerprint(subject)) return fail(otherPurchase(known))
    return { kind: 'open', challenge: known, inserts: [] }
  }
  const id = requestId ?? ownName(intent) ?? `req-${randomText(core, 16)}`
  return insertNamed(core, intent, draftChallenge(core, intent, subject, item, id))
}

function definedIds(intent: Intent): Ids {
  const { planId, routeId, requestId, resourceId, challengeId } = intent
  const ids = Object.entries({ planId, routeId, requestId, resourceId, challengeId })
  return Object.fromEntries(ids.filter(([, id]) => id !== undefined)) as Ids
}

function namesAnother(ids: Ids, challenge: ChallengeRow): boolean {
  const differs = (id: string | undefined, own: string | undefined) => id !== undefined && id !== own
  return (
    differs(ids.challengeId, challenge.key) ||
    isAnotherRequest(ids.requestId, challenge) ||
    differs(ids.planId, challenge.kind === 'plan' ? challenge.itemId : undefined) ||
    differs(ids.routeId, challenge.kind === 'route' ? challenge.itemId : undefined) ||
    differs(ids.resourceId, challenge.resourceId)
  )
}

/** The echo of a 402 names the request as that 402 did, also where the claim gave the record another name. */
function isAnotherRequest(requestId: string | undefined, challenge: ChallengeRow): boolean {
  const { requestId: own, askedAs, earlierNames = [] } = challenge
  return requestId !== undefined && ![own, askedAs, ...earlierNames].includes(requestId)
}

function renamed(draft: ChallengeRow, requestId: string | undefined): ChallengeRow {
  if (requestId === undefined || requestId === draft.requestId) return draft
  const { version, requestId: before, askedAs = before, earlierNames = [] } = draft
  const names = [...earlierNames, before].filter((name) => name !== requestId)
  // Nothing leads yet to one that is not stored.
  return { ...draft, requestId, askedAs, ...(version > 0 && { earlierNames: names }) }
}

/**
 * Does a payment that is named after its signature give the challenge its name? Not if the buyer chose one; but one of
 * ours, or of another payment that came to nothing, makes room.
 */
function takesName(challenge: ChallengeRow, name: string | undefined): boolean {
  const { requestId, askedAs = requestId, state, liveAuth } = challenge
  const unpaid = state === 'PENDING' && liveAuth === null
  return name !== undefined && name !== requestId && unpaid && OUR_NAME.test(askedAs)
}

/** A route's payment buys one exact call: the same method, path, query and body. */
export function sameCall(intent: Intent, challenge: ChallengeRow): boolean {
  if (challenge.kind === 'plan') return true
  if (intent.call === undefined) return false
  const { method, path, body } = intent.call
  const { itemId: routeId, resourceId } = challenge
  const fingerprint = subjectFingerprint({
    kind: 'route',
    routeId,
    resourceId,
    resource: { method, path, bodyHash: bodyHashOf(body) },
  })
  return fingerprint === challenge.fingerprint
}
