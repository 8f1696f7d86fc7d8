import type { ErrorBody } from '../protocol/error-codes.ts'

/** Why a purchase did not happen, and what that means for the money. */
export type BuyerErrorCode =
  /** An option of `createBuyer` or an argument is unusable. */
  | 'BAD_OPTION'
  /** The price is above `maxAmount`. Nothing was signed. */
  | 'OVER_LIMIT'
  /** Scheme, network or token of the offer are not among those the buyer allows. Nothing was signed. */
  | 'OFFER_REFUSED'
  /** The 402 cannot be read as an x402 v2 offer. Nothing was signed. */
  | 'OFFER_UNREADABLE'
  /** This requestId belongs to a payment for something else. Nothing was sent. */
  | 'REQUEST_ID_REUSED'
  /** Time is up and the outcome is not known. The payload is kept: buy again with the same requestId. */
  | 'STILL_PENDING'
  /** The gateway said for certain that no money moved. Buying again signs a new authorization. */
  | 'PAYMENT_FAILED'
  /** Paid, not delivered; the refund is on its way, or done. */
  | 'REFUNDED'
  /** The gateway refused the request for another reason; see `gateway`. */
  | 'REFUSED'
  /** An answer that no gateway should give. The payload, if there is one, is kept. */
  | 'UNEXPECTED_ANSWER'

export interface BuyerErrorDetails {
  requestId?: string | undefined
  statusUrl?: string | undefined
  /** The gateway's own error body. */
  gateway?: Partial<ErrorBody> | undefined
  cause?: unknown
}

export class BuyerError extends Error {
  readonly code: BuyerErrorCode
  readonly requestId: string | undefined
  readonly statusUrl: string | undefined
  readonly gateway: Partial<ErrorBody> | undefined

  constructor(code: BuyerErrorCode, message: string, details: BuyerErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'BuyerError'
    this.code = code
    this.requestId = details.requestId
    this.statusUrl = details.statusUrl
    this.gateway = details.gateway
  }
}
