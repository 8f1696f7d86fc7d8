/** A signed payment, kept from before it is first sent. It is as good as money until `validBefore`. */
export interface StoredPayment {
  /** Value of the `payment-signature` header. */
  header: string
  /** What it buys; the same key with another subject is a mistake of the caller. */
  subject: string
  network: string
  /** Micro-units. */
  amount: string
  /** Unix seconds; later than this no chain accepts it. */
  validBefore: string
  /** Where the offer came from, and so the only place that it is sent to. */
  url?: string | undefined
}

/** Where a buyer keeps payments, so that a crash never makes it pay twice. */
export interface PaymentStorage {
  get(key: string): Promise<StoredPayment | undefined>
  /**
   * Stores unless something is stored already, and answers what is stored then, durably. Of two buyers that race
   * on one purchase both go on with the same payment.
   */
  claim(key: string, payment: StoredPayment): Promise<StoredPayment>
  /** Removes this very payment; another one under the same key stays. */
  forget(key: string, payment: StoredPayment): Promise<void>
  /**
   * Counts an amount towards the total of this storage, durably. Answers false, and counts nothing, where the total
   * would pass the limit; of reservations that race, those that pass it together are not all granted.
   */
  reserve(id: string, amountMicro: bigint, limitMicro: bigint): Promise<boolean>
  /** Takes a reservation back: its payment was never sent, or expired unused. */
  release(id: string): Promise<void>
}
