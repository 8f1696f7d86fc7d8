/** The x402 extension of signed offers and receipts. */
export const OFFER_RECEIPT = 'offer-receipt'

/** What a seller signs after a delivery, as the extension defines it. */
export interface SaleReceipt {
  version: 1
  /** CAIP-2. */
  network: string
  /** The `resource.url` of the 402. */
  resourceUrl: string
  payer: string
  /** Seconds. */
  issuedAt: number
  transaction: string
}

/** What a seller signs once a payment is back at its payer. No part of the extension: `type` tells the two apart. */
export interface RefundReceipt extends SaleReceipt {
  type: 'refund'
  asset: string
  /** In units of the asset. */
  amount: string
  refundTransaction: string
}

/** What a seller signs of one entry of `accepts`. */
export interface OfferTerms {
  version: 1
  resourceUrl: string
  scheme: string
  network: string
  asset: string
  payTo: string
  amount: string
  /** Seconds. */
  validUntil: number
}

/** Everything that is signed with the receipt key. */
export type Statement = SaleReceipt | RefundReceipt | OfferTerms

/** A receipt as `extensions` of a `payment-response` carry it; strict clients read no extension without a `schema`. */
export function receiptExtension(jws: string) {
  return { [OFFER_RECEIPT]: { info: { receipt: { format: 'jws', signature: jws } }, schema: {} } } as const
}

/** Where a purchase is shown to people. */
export function receiptUrlOf(baseUrl: string, challengeId: string): string {
  return `${baseUrl}/receipts/${encodeURIComponent(challengeId)}`
}
