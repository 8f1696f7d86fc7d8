import type { CreditLog } from './credit-log.ts'

/** A signed payment, stored before it is first sent. It can be used as money until `validBefore`. */
export interface StoredPayment {
  /** Value of the `payment-signature` header. */
  header: string
  /** What it buys; using the same key for another subject is an error of the caller. */
  subject: string
  network: string
  /** Millionths of a dollar, whatever the token's decimals; of a metered call the most that it may cost. */
  amount: string
  /** Unix seconds; later than this no chain accepts it. */
  validBefore: string
  /** The origin of the offer, and the only place that the payment is sent to. */
  url?: string | undefined
}

/** Where a buyer keeps payments, so that a crash never makes it pay twice. */
export interface PaymentStorage {
  get(key: string): Promise<StoredPayment | undefined>
  /**
   * Stores the payment unless one is stored already, and returns the stored one, durably. If two buyers race on one
   * purchase, both continue with the same payment.
   */
  claim(key: string, payment: StoredPayment): Promise<StoredPayment>
  /** Removes this payment; another one under the same key stays. */
  forget(key: string, payment: StoredPayment): Promise<void>
  /**
   * Adds an amount to the total of this storage, durably. Returns false, and adds nothing, if the total would exceed
   * the limit; concurrent reservations cannot exceed it together.
   */
  reserve(id: string, amountMicro: bigint, limitMicro: bigint): Promise<boolean>
  /** Takes a reservation back: its payment was never sent, or expired unused. */
  release(id: string): Promise<void>
  /**
   * Lowers the reservation of a metered payment to what was charged. Without it, and without `uncharged`, its maximum
   * counts for good.
   */
  charge?(id: string, amountMicro: bigint): Promise<void>
  /** The reservations of metered payments, oldest first, that were neither lowered nor taken back: their ids begin with `permit2/`. */
  uncharged?(): Promise<Array<{ id: string; amountMicro: bigint }>>
  /** Which credits were bought, with their tokens. Without it they are known only while the process lives. */
  credits?: CreditLog
}
