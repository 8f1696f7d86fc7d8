/** What chain and ledger do not agree on. */
export type DiscrepancyKind =
  /** Money came in, and no receipt tells of it. */
  | 'orphan-payment'
  /** A receipt whose transfer the chain does not have. */
  | 'payment-not-on-chain'
  /** A receipt that tells another amount, payer or place than the chain or its challenge. */
  | 'receipt-differs'
  /** Delivered without any payment that counts. */
  | 'unpaid-delivery'
  /** Owed and not paid, or said to be paid and not on the chain. */
  | 'refund-missing'
  /** Paid back more than once. */
  | 'double-refund'
  /** The chain paid it back, and the ledger does not know. */
  | 'refund-unrecorded'

export interface Discrepancy {
  kind: DiscrepancyKind
  /** `warn`: it may be all right; only its owner can tell. */
  level: 'error' | 'warn'
  challengeId: string | null
  txHash: string | null
  message: string
  mend: string
}
