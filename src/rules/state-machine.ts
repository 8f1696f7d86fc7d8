import type { ChallengeState } from '../protocol/access.ts'

/** Everything that can happen to a challenge. */
export type ChallengeEvent =
  | 'paid'
  | 'delivered'
  | 'backend-failed'
  | 'delivery-failed'
  | 'expired'
  | 'cancelled'
  | 'late-money'
  | 'surplus-received'
  | 'receipt-lost'
  | 'refund-confirmed'
  | 'refund-failed'
  | 'refund-retried'
  | 'refund-proven'

/**
 * All transitions of a challenge. What is not listed cannot happen. `surplus-received` and `backend-failed` do not
 * change the state; they are listed because they are recorded.
 */
export const TRANSITIONS: Readonly<Record<ChallengeState, Partial<Record<ChallengeEvent, ChallengeState>>>> =
  {
    PENDING: { paid: 'PAID', expired: 'EXPIRED', cancelled: 'CANCELLED', 'surplus-received': 'PENDING' },
    PAID: {
      delivered: 'DELIVERED',
      'backend-failed': 'PAID',
      'delivery-failed': 'REFUND_PENDING',
      // A reorganisation removed the payment for good before anything was delivered: it was never paid.
      'receipt-lost': 'EXPIRED',
      'surplus-received': 'PAID',
    },
    DELIVERED: { 'surplus-received': 'DELIVERED', 'receipt-lost': 'DELIVERED' },
    EXPIRED: { 'late-money': 'REFUND_PENDING' },
    CANCELLED: { 'late-money': 'REFUND_PENDING' },
    REFUND_PENDING: {
      'refund-confirmed': 'REFUNDED',
      'refund-failed': 'REFUND_FAILED',
      'receipt-lost': 'EXPIRED',
      'surplus-received': 'REFUND_PENDING',
    },
    REFUNDED: { 'surplus-received': 'REFUNDED' },
    REFUND_FAILED: {
      'refund-retried': 'REFUND_PENDING',
      'refund-proven': 'REFUNDED',
      'surplus-received': 'REFUND_FAILED',
    },
  }

/**
 * The state after `event`, or undefined if the event cannot happen, which includes every event in a state of a newer
 * version.
 */
export function nextState(state: ChallengeState, event: ChallengeEvent): ChallengeState | undefined {
  return TRANSITIONS[state]?.[event]
}
