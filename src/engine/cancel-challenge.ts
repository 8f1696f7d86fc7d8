import { GatewayError } from '../errors.ts'
import type { ChallengeRow, Put } from '../ports.ts'
import type { ChallengeStatus } from '../protocol/access.ts'
import { AcceptedSchema } from '../protocol/payment.ts'
import { findSubject } from '../rules/catalog.ts'
import { applyEvent, putChallenge } from './apply-event.ts'
import { type Core, commit, getOne } from './core.ts'
import { provenDraft } from './find-challenge.ts'
import { statusOf } from './inspect.ts'
import { endingEntries } from './log-unpaid.ts'
import { requestPointer, sweepAt } from './open-challenge.ts'
import type { OfferedTerms } from './outcome.ts'
import { challengeClosed, settlementPending } from './refusals.ts'

const MAX_RACES = 8

/**
 * PENDING → CANCELLED. A challenge that has lived in its id alone so far gets its record in the same step, so that whoever
 * pays it meets that: the insert decides between the two.
 */
export async function cancelChallenge(
  core: Core,
  challengeId: string,
  actor: 'buyer' | 'operator',
  offered?: OfferedTerms,
): Promise<ChallengeStatus | GatewayError> {
  for (let race = 0; race < MAX_RACES; race++) {
    const challenge =
      (await getOne(core, 'challenges', challengeId)) ?? offeredChallenge(core, challengeId, offered)
    if (challenge instanceof GatewayError) return challenge
    if (challenge.state === 'CANCELLED') return statusOf(challenge)
    const unstored = challenge.version === 0
    const late = unstored && core.clock.now() >= challenge.expiresAt
    if (challenge.state === 'EXPIRED' || late) return challengeClosed(challenge)
    if (challenge.state !== 'PENDING') {
      const message = `Challenge ${challengeId} is ${challenge.state}; only PENDING is cancelled.`
      return new GatewayError('INVALID_REQUEST', message, { challengeId })
    }
    if (challenge.liveAuth !== null) return settlementPending(challenge)
    const facts = { at: core.clock.now(), actor }
    const cancelled = applyEvent(challenge, 'cancelled', facts, { dueAt: sweepAt(core, challenge) })
    const audit = endingEntries(core, challenge, cancelled.audit)
    const puts = [putChallenge(cancelled.row), ...(unstored ? await freePointer(core, challenge) : [])]
    if (await commit(core, { puts, audit })) return statusOf(cancelled.row)
  }
  return new GatewayError('INTERNAL_ERROR', `Too many requests at once for challenge ${challengeId}.`, {
    challengeId,
  })
}

/** What was offered under this id, proven by it; or why nothing is known of it. */
function offeredChallenge(
  core: Core,
  challengeId: string,
  offered: OfferedTerms | undefined,
): ChallengeRow | GatewayError {
  const unknown = (message: string) => new GatewayError('CHALLENGE_NOT_FOUND', message)
  const id = challengeId.slice(0, 80)
  if (!offered)
    return unknown(
      `No challenge ${id} is stored. One that was only offered is cancelled with the terms of its 402: accepted.`,
    )
  const { success, data } = AcceptedSchema.safeParse(offered.accepted)
  const extra = success ? (data.extra ?? {}) : undefined
  if (!extra || (extra.challengeId ?? challengeId) !== challengeId) {
    const message = `accepted is not one of the terms that were offered as challenge ${id}; echo accepts[] of its 402 unchanged.`
    return new GatewayError('INVALID_REQUEST', message)
  }
  const sold = findSubject(core.config.catalog, { ...extra, call: offered.call })
  if (sold instanceof GatewayError) return sold
  const draft = provenDraft(core, extra, challengeId, sold, { amount: data?.amount })
  return draft ?? unknown(`challengeId ${id} was not issued by this gateway for these terms.`)
}

/** Its request's name, unless another challenge has it. */
async function freePointer(core: Core, challenge: ChallengeRow): Promise<Put[]> {
  return (await getOne(core, 'requests', challenge.requestId)) ? [] : [requestPointer(challenge)]
}
