import type { ChallengeRow } from '../../ports.ts'
import { routeSubject } from '../../rules/terms.ts'
import { type Core, randomText } from '../core.ts'
import type { EchoedIds, Intent } from '../outcome.ts'
import { subjectFingerprint } from './subject-fingerprint.ts'

/**
 * A request has one name, its requestId. If the buyer gives none, the offer gets a generated one, and the payment may
 * still replace it by a name that a retry repeats.
 */
const GENERATED = /^req-[A-Za-z0-9_-]{22}$/

export const generateRequestId = (core: Core): string => `req-${randomText(core, 16)}`

export const isGenerated = (requestId: string | undefined): boolean => GENERATED.test(requestId ?? '')

/** The name that the payment gives to the purchase, whatever requestId the offer had. */
export function nameOfPayment({ payment, claimRequestId }: Intent): string | undefined {
  return payment?.paymentId ?? claimRequestId
}

/**
 * Is this the name of another request? A challenge is found by the requestId of its offer and by every name it had
 * since.
 */
export function isAnotherRequest(requestId: string | undefined, challenge: ChallengeRow): boolean {
  const { requestId: own, offeredRequestId, earlierNames = [] } = challenge
  return requestId !== undefined && ![own, offeredRequestId, ...earlierNames].includes(requestId)
}

/** Does one of these ids name another challenge, item or resource? */
export function namesAnother(ids: EchoedIds, challenge: ChallengeRow): boolean {
  const differs = (id: string | undefined, own: string | undefined) => id !== undefined && id !== own
  return (
    differs(ids.challengeId, challenge.key) ||
    isAnotherRequest(ids.requestId, challenge) ||
    differs(ids.planId, challenge.kind === 'plan' ? challenge.itemId : undefined) ||
    differs(ids.routeId, challenge.kind === 'route' ? challenge.itemId : undefined) ||
    differs(ids.resourceId, challenge.resourceId)
  )
}

/** A route's payment buys one exact call: the same method, path, query and body. */
export function isSameCall({ call }: Intent, challenge: ChallengeRow): boolean {
  if (challenge.kind === 'plan') return true
  if (call === undefined) return false
  return (
    subjectFingerprint(routeSubject(challenge.itemId, challenge.resourceId, call)) === challenge.fingerprint
  )
}

export function renamed(challenge: ChallengeRow, requestId: string | undefined): ChallengeRow {
  if (requestId === undefined || requestId === challenge.requestId) return challenge
  const { version, requestId: before, offeredRequestId = before, earlierNames = [] } = challenge
  const names = [...earlierNames, before].filter((name) => name !== requestId)
  // A challenge that is not stored has no pointer under its earlier name.
  return { ...challenge, requestId, offeredRequestId, ...(version > 0 && { earlierNames: names }) }
}

/**
 * May this payment, which is named after its signature, give the challenge its name? Not if the buyer chose the
 * requestId. A generated name, or that of an earlier payment that failed, is replaced.
 */
export function takesName(challenge: ChallengeRow, name: string | undefined): boolean {
  const { requestId, offeredRequestId = requestId, state, liveAuth } = challenge
  const unpaid = state === 'PENDING' && liveAuth === null
  return name !== undefined && name !== requestId && unpaid && isGenerated(offeredRequestId)
}
