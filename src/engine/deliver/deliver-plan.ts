import type { ChallengeRow, Delivered } from '../../ports.ts'
import { applyEvent, putChallenge } from '../apply-event.ts'
import { afterCommit, type Core, commit, getOne, MAX_RACES, orderOf, settledPayment } from '../core.ts'
import type { Outcome } from '../outcome.ts'
import { refundOf } from '../refund/refund-rows.ts'
import { deliveryFailed } from '../refusals.ts'
import { deliveredChange } from './delivered.ts'

/**
 * Issues the credential of a paid plan under a lease, and returns it. Undefined: another instance holds the lease or
 * was first, so look again. A repeated call has the same idempotency key, so a crash in between does no harm.
 */
export async function deliverPlan(core: Core, challenge: ChallengeRow): Promise<Outcome | undefined> {
  const now = core.clock.now()
  if (challenge.kind !== 'plan' || challenge.state !== 'PAID') return undefined
  if (challenge.leaseUntil !== null && challenge.leaseUntil > now) return undefined
  const leaseUntil = now + core.config.deliveryLeaseMs
  const leased = { ...challenge, leaseUntil, dueAt: leaseUntil, deliveryTries: challenge.deliveryTries + 1 }
  if (!(await commit(core, { puts: [putChallenge(leased)] }))) return undefined
  return deliverLeased(core, afterCommit(leased))
}

/** Delivers a challenge for which the caller has just stored a lease. */
export async function deliverLeased(core: Core, challenge: ChallengeRow): Promise<Outcome | undefined> {
  const delivered = await attemptDelivery(core, challenge)
  let current: ChallengeRow | undefined = challenge
  // A reorganisation may have changed the row since. As long as the lease is ours, the result may be stored.
  for (let race = 0; race < MAX_RACES && current; race++) {
    const ours = current.state === 'PAID' && current.deliveryTries === challenge.deliveryTries
    const outcome: Outcome | undefined = ours ? await finishDelivery(core, current, delivered) : undefined
    if (outcome || !ours) return outcome
    current = await getOne(core, 'challenges', challenge.key)
  }
  return undefined
}

export async function attemptDelivery(core: Core, challenge: ChallengeRow): Promise<Delivered> {
  try {
    return await core.delivery.deliver(orderOf(challenge))
  } catch (cause) {
    return { kind: 'failed', reason: cause instanceof Error ? cause.message : 'the credential step failed' }
  }
}

/** T3, the delivery: in one step the result and DELIVERED, or the intent to refund and REFUND_PENDING. */
async function finishDelivery(
  core: Core,
  challenge: ChallengeRow,
  delivered: Delivered,
): Promise<Outcome | undefined> {
  const facts = { at: core.clock.now(), actor: 'gateway' as const, txHash: challenge.txHash ?? undefined }
  const released = { leaseUntil: null, dueAt: null }
  if (delivered.kind === 'delivered') {
    const { row, puts, audit } = deliveredChange(core, challenge, facts, {
      result: delivered.sealed,
      expiresAt: delivered.expiresAt,
    })
    if (!(await commit(core, { puts, audit }))) return undefined
    const grant = await core.delivery.open(orderOf(challenge), delivered.sealed)
    return { kind: 'granted', grant, settled: settledPayment(row), cached: false }
  }
  const receipt = challenge.receipt === null ? undefined : await getOne(core, 'receipts', challenge.receipt)
  if (!receipt) throw new Error(`challenge ${challenge.key} is ${challenge.state} without a receipt`)
  const failure = delivered.reason.slice(0, 300)
  const failed = applyEvent(
    challenge,
    'delivery-failed',
    { ...facts, details: { reason: failure } },
    { ...released, failure },
  )
  const puts = [putChallenge(failed.row), refundOf(receipt, core.rails.of(receipt), true, facts.at)]
  if (!(await commit(core, { puts, audit: failed.audit }))) return undefined
  core.alerts.raise('delivery-failed', `challenge ${challenge.key}: ${failure}`)
  return { kind: 'failed', error: deliveryFailed(failed.row), settled: settledPayment(challenge) }
}
