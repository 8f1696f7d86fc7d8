/** The stored rows of credits. Types only; every layer may import them. */
import type { Hex } from './protocol/hex.ts'
import type { RowBase } from './row-base.ts'

/** Credits set aside for a call that is under way. */
export interface ReservedCredits {
  id: string
  credits: number
  /** From then on (ms) the call counts as failed. */
  until: number
  /** The call did not end in time and the credits are given back: its answer must not go out any more. */
  lapsed?: true
}

/**
 * key = challengeId; ref = the account, as of its lot. The credits that one purchase of a plan granted. What is free to
 * spend is `granted - spent`, less what is reserved.
 */
export interface CreditRow extends RowBase {
  granted: number
  spent: number
  reserved: ReservedCredits[]
  /** When they end (ms). */
  expiresAt: number
  /** CAIP-2: the payer is a wallet with code, and so only there the same; null: its key signed. */
  network: string | null
  /** CAIP-2 id of where the purchase was paid. */
  paidOn: string
  txHash: Hex
  requestId: string
  /**
   * Nothing more can be reserved. `closing`: the operator closes it, once nothing is reserved. `closed`: what was
   * unspent goes back to the payer. `lost`: a reorganisation took the payment.
   */
  ended?: 'closing' | 'closed' | 'lost'
}

/**
 * key = `<payer>/<resourceId>/<the buyer's Idempotency-Key>`; ref = the account that is debited. A prepaid call that is
 * debited once, however often it is sent.
 */
export interface CallRow extends RowBase {
  /** Of route, method, path and body. */
  fingerprint: string
  /** The id of its reservation. */
  reservation: string
  /** Of its reservation: from then on another request may take the call over. */
  until: number
  credits: number
  done: boolean
  /** The sealed answer; null where it is not stored, as of embedded routes. */
  result: string | null
}
