import type { GatewayError } from '../../errors.ts'
import type { AuthorizationRow, ChallengeRow, Order } from '../../ports.ts'
import { isPaidBy, type ProvenPayer } from '../../rules/ownership.ts'
import { networkOfRail } from '../../rules/rail-id.ts'
import { type Core, getOne, offerAgain, orderOf, settledPayment } from '../core.ts'
import type { Outcome } from '../outcome.ts'
import {
  ALLOWANCE_REQUIRED,
  answerNotKept,
  challengeClosed,
  deliveryFailed,
  otherPayer,
  refunded,
  resultPruned,
  sentPaymentFailed,
  settlementPending,
  unpaidCall,
} from '../refusals.ts'
import type { Subscription } from '../signals.ts'
import { deliverPlan } from './deliver-plan.ts'
import { deliverLeasedRoute, deliverRoute, type RouteResponder } from './deliver-route.ts'

/**
 * A failure for the transport; with `challenge`, the buyer gets an offer to pay the same challenge again. `rail`: the id
 * of the one that the failed payment was for.
 */
export function failed(core: Core, error: GatewayError, challenge?: ChallengeRow, rail?: string): Outcome {
  const lacksAllowance = error.code === 'PERMIT2_ALLOWANCE_REQUIRED'
  const settle = error.code === 'PAYMENT_FAILED' || lacksAllowance
  const message = lacksAllowance ? ALLOWANCE_REQUIRED : error.message
  const network = rail === undefined ? challenge?.network : networkOfRail(rail)
  return {
    kind: 'failed',
    error,
    ...(challenge && { offer: offerAgain(core, challenge, message) }),
    ...(settle && {
      settled: { network: network ?? core.rails.preferred.network.id, failure: message },
    }),
  }
}

/**
 * Waits until the challenge changes, in this process or (found by polling) elsewhere, but never past the deadline.
 */
export async function waitForChange(core: Core, subscription: Subscription, deadline: number): Promise<void> {
  const left = Math.max(0, Math.min(core.config.storePollMs, deadline - core.clock.now()))
  await Promise.race([subscription.change(), core.clock.sleep(left)])
}

export interface SettlementWait {
  challengeId: string
  /** The payer that the result belongs to. */
  owner: ProvenPayer
  /** The attempt to wait for; absent if the money is known to have moved. */
  authKey?: string
  deadline: number
  /** This request claimed the payment itself, so its answer is no replay. */
  fresh: boolean
  /** Opened before the payment could be sent. Closed here. */
  watched?: Subscription
  /** The payment was sent, and `watched` has seen every change since. */
  sent?: boolean
  responder: RouteResponder
}

/**
 * Waits until the claimed payment is decided, and answers its payer. Undefined: the claim was released, so the
 * request must start again.
 */
export async function settledOutcome(
  core: Core,
  { challengeId, owner, authKey, deadline, fresh, watched, sent, responder }: SettlementWait,
): Promise<Outcome | undefined> {
  let first = !fresh
  // Subscribed before reading, so that a change between the read and the wait is not missed.
  const subscription = watched ?? core.signals.subscribe(challengeId, authKey)
  try {
    if (sent) await waitForChange(core, subscription, deadline)
    for (;;) {
      const assigned = subscription.takeAssigned()
      const delivered = assigned && (await answerAssigned(core, assigned, owner, responder))
      if (delivered) return delivered
      const [attempt, challenge] = await Promise.all([
        authKey === undefined ? undefined : getOne(core, 'authorizations', authKey),
        getOne(core, 'challenges', challengeId),
      ])
      if (!challenge) return undefined
      if (authKey !== undefined && (!attempt || attempt.phase === 'RELEASED')) return undefined
      const decided = await decide(core, challenge, attempt, { owner, first, responder })
      if (decided) return decided
      // A request that was assigned the delivery must make it, even past its deadline: nobody else can until the
      // lease ends.
      const isOver = core.clock.now() >= deadline && !subscription.isAssigned()
      if (isOver) return failed(core, settlementPending(challenge))
      first = false
      await waitForChange(core, subscription, deadline)
    }
  } finally {
    subscription.close()
  }
}

/**
 * Answers with the challenge that was just assigned to this request: a credential that is ready, or a call that this
 * request must make.
 */
async function answerAssigned(
  core: Core,
  assigned: ChallengeRow,
  owner: ProvenPayer,
  responder: RouteResponder,
) {
  return assigned.kind === 'route' && assigned.state === 'PAID'
    ? deliverLeasedRoute(core, assigned, responder)
    : decide(core, assigned, undefined, { owner, first: false, responder })
}

/** What opens the result of a delivered challenge again; undefined if it is not kept any more. */
export async function keptResult(
  core: Core,
  challenge: ChallengeRow,
): Promise<{ order: Order; result: string } | undefined> {
  const { key, kind, prunedAt, result } = challenge
  const order = orderOf(challenge)
  if (prunedAt === undefined || kind !== 'plan' || !core.delivery.instant)
    return result === null ? undefined : { order, result }
  // A credential that we sign can be made again from the order, if it is known when the access ends: the plan may last
  // longer by now. Where an earlier version removed it, the lot says so, until a day after that.
  const accessEndsAt = challenge.accessEndsAt ?? (await getOne(core, 'lots', key))?.expiresAt ?? undefined
  return accessEndsAt === undefined ? undefined : { order: { ...order, accessEndsAt }, result: '' }
}

async function decide(
  core: Core,
  challenge: ChallengeRow,
  attempt: AuthorizationRow | undefined,
  { owner, first, responder }: { owner: ProvenPayer; first: boolean; responder: RouteResponder },
): Promise<Outcome | undefined> {
  // Another payer has paid the challenge since this attempt failed: the result belongs only to that payer.
  if (challenge.payer !== null && !isPaidBy(challenge, owner)) {
    return failed(core, otherPayer(challenge))
  }
  switch (challenge.state) {
    case 'PENDING': {
      // An answered metered call whose charge cannot be settled now: its reason is why.
      if (attempt?.phase === 'CHARGED' && attempt.reason !== null) {
        return failed(core, unpaidCall(challenge, attempt.reason))
      }
      if (attempt?.phase !== 'ABANDONED' && attempt?.phase !== 'DEAD') return undefined
      return failed(core, sentPaymentFailed(challenge, attempt), challenge, attempt.rail)
    }
    case 'DELIVERED': {
      const kept = await keptResult(core, challenge)
      if (!kept) {
        const gone = challenge.prunedAt === undefined ? answerNotKept : resultPruned
        return failed(core, gone(challenge))
      }
      const { order, result } = kept
      const shared = { settled: settledPayment(challenge), cached: first }
      if (challenge.kind === 'plan') {
        return { kind: 'granted', grant: await core.delivery.open(order, result), ...shared }
      }
      // Both open what either of them has sealed.
      const opened = await (core.backend ?? core.handlers)?.open(order, result)
      return opened ? { kind: 'resource', ...opened, ...shared } : failed(core, answerNotKept(challenge))
    }
    case 'PAID':
      return challenge.kind === 'plan'
        ? deliverPlan(core, challenge)
        : deliverRoute(core, challenge, responder)
    case 'EXPIRED':
    case 'CANCELLED':
      return failed(core, challengeClosed(challenge))
    case 'REFUND_PENDING':
    case 'REFUNDED':
    case 'REFUND_FAILED':
      if (challenge.failure !== null && !first) {
        return { kind: 'failed', error: deliveryFailed(challenge), settled: settledPayment(challenge) }
      }
      return failed(core, refunded(challenge))
    default:
      // A state that a newer version stored: only instances of that version can decide it.
      return undefined
  }
}
