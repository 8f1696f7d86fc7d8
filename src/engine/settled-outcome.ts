import type { GatewayError } from '../errors.ts'
import type { AuthorizationRow, ChallengeRow } from '../ports.ts'
import type { Address } from '../protocol/hex.ts'
import { explainReason } from '../rules/check-payment.ts'
import { type Core, getOne, orderOf, requireFor, settledReceipt } from './core.ts'
import { deliverPlan } from './deliver.ts'
import { deliverLeasedRoute, deliverRoute, type Handover } from './deliver-route.ts'
import type { Outcome } from './outcome.ts'
import {
  alreadyRedeemed,
  challengeClosed,
  deliveryFailed,
  otherPayer,
  paymentFailed,
  refunded,
  resultPruned,
  settlementPending,
} from './refusals.ts'
import type { Subscription } from './signals.ts'

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

/** Until the challenge changes, here or (found by polling) elsewhere; never past the deadline. */
export async function waitForChange(core: Core, subscription: Subscription, deadline: number): Promise<void> {
  const left = Math.max(0, Math.min(core.config.storePollMs, deadline - core.clock.now()))
  await Promise.race([subscription.change(), core.clock.sleep(left)])
}

interface Awaited {
  challengeId: string
  /** Whose result it is. */
  payer: Address
  /** The attempt that is waited for; absent where the money is known to have moved. */
  authKey?: string
  deadline: number
  /** This very request claimed the payment: what it gets is no replay. */
  fresh: boolean
  /** Opened before the payment could be sent. Closed here. */
  watched?: Subscription
  /** The payment was sent, and whatever came of it was seen by `watched`. */
  sent?: boolean
  handover: Handover
}

/**
 * Waits until the claimed payment is decided, and answers its owner. Undefined: the claim is gone (released by the
 * resolver), so that the request starts again.
 */
export async function settledOutcome(
  core: Core,
  { challengeId, payer, authKey, deadline, fresh, watched, sent, handover }: Awaited,
): Promise<Outcome | undefined> {
  let first = !fresh
  // Subscribed before reading, so that a change between the read and the wait is not missed.
  const subscription = watched ?? core.signals.subscribe(challengeId, authKey)
  try {
    if (sent) await waitForChange(core, subscription, deadline)
    for (;;) {
      const handed = subscription.takeHanded()
      const delivered = handed && (await takeOver(core, handed, payer, handover))
      if (delivered) return delivered
      const [attempt, challenge] = await Promise.all([
        authKey === undefined ? undefined : getOne(core, 'authorizations', authKey),
        getOne(core, 'challenges', challengeId),
      ])
      if (!challenge) return undefined
      if (authKey !== undefined && (!attempt || attempt.phase === 'RELEASED')) return undefined
      const decided = await decide(core, challenge, attempt, { payer, first, handover })
      if (decided) return decided
      // Whoever was handed the delivery meanwhile has to make it: nobody else can until the lease ends.
      const isOver = core.clock.now() >= deadline && !subscription.isHanded()
      if (isOver) return failed(core, settlementPending(challenge))
      first = false
      await waitForChange(core, subscription, deadline)
    }
  } finally {
    subscription.close()
  }
}

/** What this request waited for, as it was stored this moment: a credential that is ready, or a call that it has to make. */
async function takeOver(core: Core, handed: ChallengeRow, payer: Address, handover: Handover) {
  return handed.kind === 'route'
    ? deliverLeasedRoute(core, handed, handover)
    : decide(core, handed, undefined, { payer, first: false, handover })
}

async function decide(
  core: Core,
  challenge: ChallengeRow,
  attempt: AuthorizationRow | undefined,
  { payer, first, handover }: { payer: Address; first: boolean; handover: Handover },
): Promise<Outcome | undefined> {
  // This attempt came to nothing and somebody else paid the challenge: its result goes to its payer alone.
  if (challenge.payer !== null && challenge.payer !== payer) {
    return failed(core, otherPayer(challenge))
  }
  switch (challenge.state) {
    case 'PENDING': {
      if (attempt?.phase !== 'ABANDONED' && attempt?.phase !== 'DEAD') return undefined
      const error = paymentFailed(challenge, explainReason(attempt.reason ?? 'reverted'))
      return failed(core, error, challenge)
    }
    case 'DELIVERED': {
      const order = orderOf(challenge)
      // What we sign ourselves is made of the order alone, so that it can be made again.
      const remade = challenge.prunedAt !== undefined && challenge.kind === 'plan' && core.delivery.instant
      const result = remade ? '' : challenge.result
      if (result === null) {
        // An embedded handler's answer is not ours to keep.
        const gone = challenge.prunedAt === undefined ? alreadyRedeemed : resultPruned
        return failed(core, gone(challenge))
      }
      const shared = { receipt: settledReceipt(challenge), cached: first }
      if (challenge.kind === 'plan') {
        return { kind: 'granted', grant: await core.delivery.open(order, result), ...shared }
      }
      const opened = await core.backend?.open(order, result)
      return opened ? { kind: 'resource', ...opened, ...shared } : failed(core, alreadyRedeemed(challenge))
    }
    case 'PAID':
      return challenge.kind === 'plan'
        ? deliverPlan(core, challenge)
        : deliverRoute(core, challenge, handover)
    case 'EXPIRED':
    case 'CANCELLED':
      return failed(core, challengeClosed(challenge))
    case 'REFUND_PENDING':
    case 'REFUNDED':
    case 'REFUND_FAILED':
      if (challenge.failure !== null && !first) {
        return { kind: 'failed', error: deliveryFailed(challenge), receipt: settledReceipt(challenge) }
      }
      return failed(core, refunded(challenge))
    default:
      // A state that a newer version stored: an instance of that version decides it.
      return undefined
  }
}
