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
 * The whole life of a challenge. What is not listed cannot happen. `surplus-received` and `backend-failed` are
 * listed although they move nothing, because they are recorded.
 */
export const TRANSITIONS: Readonly<Record<ChallengeState, Partial<Record<ChallengeEvent, ChallengeState>>>> =
  {
    PENDING: { paid: 'PAID', expired: 'EXPIRED', cancelled: 'CANCELLED', 'surplus-received': 'PENDING' },
    PAID: {
      delivered: 'DELIVERED',
      'backend-failed': 'PAID',
      'delivery-failed': 'REFUND_PENDING',
      // The chain took the payment back for good before anything was delivered: it was never paid.
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

/** The state after `event`, or undefined where the event cannot happen: also to a state that a newer version stored. */
export function nextState(state: ChallengeState, event: ChallengeEvent): ChallengeState | undefined {
  return TRANSITIONS[state]?.[event]
}
