/** A difference between the chain and the ledger. */
export type DiscrepancyKind =
  /** Money came in, and there is no receipt for it. */
  | 'orphan-payment'
  /** A receipt whose transfer the chain does not have. */
  | 'payment-not-on-chain'
  /** A receipt whose amount, payer or transaction differs from the chain or from its challenge. */
  | 'receipt-differs'
  /** Delivered without a valid payment. */
  | 'unpaid-delivery'
  /** A refund that is due and not paid, or that is recorded as paid and not on the chain. */
  | 'refund-missing'
  /** Refunded more than once. */
  | 'double-refund'
  /** Refunded on the chain, but not in the ledger. */
  | 'refund-unrecorded'
  /** Credits that do not add up, or whose unspent share was not refunded as it should be. */
  | 'credits-differ'

export interface Discrepancy {
  kind: DiscrepancyKind
  /** `warn`: it may be in order; only the operator can tell. */
  level: 'error' | 'warn'
  challengeId: string | null
  txHash: string | null
  message: string
  fix: string
}
