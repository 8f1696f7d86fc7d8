import { GatewayError } from '../../errors.ts'
import type { ChallengeRow, Put } from '../../ports.ts'
import type { ChallengeStatus } from '../../protocol/access.ts'
import { findSubject } from '../../rules/catalog.ts'
import { applyEvent, putChallenge } from '../apply-event.ts'
import { type Core, commit, getOne, MAX_RACES } from '../core.ts'
import type { OfferedTerms } from '../outcome.ts'
import { challengeClosed, settlementPending } from '../refusals.ts'
import { statusOf } from './inspect.ts'
import { endingEntries } from './log-unpaid.ts'
import { requestPointer, sweepAt } from './open-challenge.ts'
import { provenDraft } from './proven-draft.ts'

/**
 * PENDING → CANCELLED. A challenge that was not stored yet is inserted in the same step. A payment that races with it
 * meets that insert, and only one of the two succeeds.
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

/** The offered challenge, proven by its id; or an error that says why it is not known. */
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
  const { echo, echoedAmount: amount, call } = offered
  if ((echo.challengeId ?? challengeId) !== challengeId) {
    const message = `accepted is not one of the terms that were offered as challenge ${id}; echo accepts[] of its 402 unchanged.`
    return new GatewayError('INVALID_REQUEST', message)
  }
  const sold = findSubject(core.config.catalog, { ...echo, call })
  if (sold instanceof GatewayError) return sold
  const draft = provenDraft(core, sold, { challengeId, requestId: echo.requestId, amount })
  return draft ?? unknown(`challengeId ${id} was not issued by this gateway for these terms.`)
}

/** The pointer of its requestId, unless that requestId is in use. */
async function freePointer(core: Core, challenge: ChallengeRow): Promise<Put[]> {
  return (await getOne(core, 'requests', challenge.requestId)) ? [] : [requestPointer(challenge)]
}
