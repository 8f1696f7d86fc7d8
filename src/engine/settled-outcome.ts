import type { GatewayError } from '../errors.ts'
import type { AuthorizationRow, ChallengeRow } from '../ports.ts'
import { explainReason } from '../rules/check-payment.ts'
import { type Core, getOne, orderOf, requireFor, settledReceipt } from './core.ts'
import { deliverPlan } from './deliver.ts'
import type { Outcome } from './outcome.ts'
import { challengeClosed, deliveryFailed, paymentFailed, refunded, settlementPending } from './refusals.ts'

/** Results of other instances are noticed by looking at the store this often. */
const STORE_POLL_MS = 250

/** A failure as a transport needs it; with `challenge`, the buyer may pay the same challenge again. */
export function failed(core: Core, error: GatewayError, challenge?: ChallengeRow): Outcome {
  const settle = error.code === 'PAYMENT_FAILED'
  return {
    kind: 'failed',
    error,
    ...(challenge && { required: requireFor(core, challenge, error.message) }),
    ...(settle && {
      receipt: {
        success: false,
        transaction: '',
        network: core.config.network.id,
        errorReason: error.message,
      },
    }),
  }
}

export async function waitForChange(core: Core, challengeId: string, deadline: number): Promise<void> {
  const left = Math.max(0, Math.min(STORE_POLL_MS, deadline - core.clock.now()))
  await Promise.race([core.signals.wait(challengeId), core.clock.sleep(left)])
}

/**
 * Waits until the claimed payment is decided, and answers its owner. Undefined: the claim is gone (released by the
 * resolver), so that the request starts again.
 */
export async function settledOutcome(
  core: Core,
  challengeId: string,
  authKey: string,
  deadline: number,
): Promise<Outcome | undefined> {
  let waited = false
  for (;;) {
    // Subscribed before reading, so that a change between the read and the wait is not missed.
    const change = core.signals.wait(challengeId)
    const [attempt, challenge] = await Promise.all([
      getOne(core, 'authorizations', authKey),
      getOne(core, 'challenges', challengeId),
    ])
    if (!challenge || !attempt || attempt.phase === 'RELEASED') return undefined
    const decided = await decide(core, challenge, attempt, !waited)
    if (decided) return decided
    if (core.clock.now() >= deadline) return failed(core, settlementPending(challenge))
    waited = true
    const left = Math.max(0, Math.min(STORE_POLL_MS, deadline - core.clock.now()))
    await Promise.race([change, core.clock.sleep(left)])
  }
}

async function decide(
  core: Core,
  challenge: ChallengeRow,
  attempt: AuthorizationRow,
  first: boolean,
): Promise<Outcome | undefined> {
  switch (challenge.state) {
    case 'PENDING': {
      if (attempt.phase !== 'ABANDONED' && attempt.phase !== 'DEAD') return undefined
      const error = paymentFailed(challenge, explainReason(attempt.reason ?? 'reverted'))
      return failed(core, error, challenge)
    }
    case 'DELIVERED': {
      if (challenge.payer !== attempt.auth.from || challenge.result === null) return undefined
      const grant = await core.delivery.open(orderOf(challenge), challenge.result)
      return { kind: 'granted', grant, receipt: settledReceipt(challenge), cached: first }
    }
    case 'PAID':
      return deliverPlan(core, challenge)
    case 'EXPIRED':
    case 'CANCELLED':
      return failed(core, challengeClosed(challenge))
    default:
      if (challenge.failure !== null && !first) {
        return { kind: 'failed', error: deliveryFailed(challenge), receipt: settledReceipt(challenge) }
      }
      return failed(core, refunded(challenge))
  }
}
