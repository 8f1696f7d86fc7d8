import { GatewayError } from '../../errors.ts'
import type { AuditEntry, Put } from '../../ports.ts'
import type { ChallengeStatus } from '../../protocol/access.ts'
import { applyEvent, putChallenge } from '../apply-event.ts'
import { statusOf } from '../challenge/inspect.ts'
import { type Core, commit, getOne } from '../core.ts'
import { networkMissing } from '../refusals.ts'
import { refundEntry } from './refund-rows.ts'

/**
 * Tries failed refunds of this challenge again from the start, after the operator has fixed the cause (missing funds,
 * a paused token): that of the payment itself or of its unspent credits, and those of a surplus.
 */
export async function retryRefund(core: Core, challengeId: string): Promise<ChallengeStatus | GatewayError> {
  const challenge = await getOne(core, 'challenges', challengeId)
  if (!challenge) {
    const message = `No challenge ${challengeId.slice(0, 80)} is known.`
    return new GatewayError('CHALLENGE_NOT_FOUND', message)
  }
  const refunds = await core.store.list('refunds', challengeId)
  const failed = refunds.filter(({ phase }) => phase === 'FAILED')
  if (failed.length === 0) {
    const message = `Challenge ${challengeId} is ${challenge.state} and no refund of it has failed; only failed ones are retried.`
    return new GatewayError('INVALID_REQUEST', message, { challengeId })
  }
  const sendable = failed.filter(({ rail }) => core.rails.find(rail))
  if (sendable.length === 0) {
    const rails = failed.map(({ rail }) => rail)
    return networkMissing(challengeId, { what: 'The failed refund', rails, next: 'retry' })
  }
  const at = core.clock.now()
  const facts = { at, actor: 'operator' as const }
  let row = challenge
  const audit: AuditEntry[] = []
  const puts: Put[] = sendable.map((refund) => {
    if (refund.movesState) {
      const change = applyEvent(challenge, 'refund-retried', facts)
      row = change.row
      audit.push(...change.audit)
    } else {
      const details = { value: refund.value }
      audit.push(refundEntry(challenge, refund, 'refund-retried', { ...facts, details }))
    }
    const anew = { phase: 'WAITING', attempts: 0, reason: null, refusal: null, dueAt: at } as const
    return { table: 'refunds', row: { ...refund, ...anew } }
  })
  if (row !== challenge) puts.push(putChallenge(row))
  if (await commit(core, { puts, audit })) return statusOf(row)
  return new GatewayError('INTERNAL_ERROR', `Challenge ${challengeId} changed meanwhile; try again.`, {
    challengeId,
  })
}
