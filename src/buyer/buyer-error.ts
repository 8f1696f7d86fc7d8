import type { ErrorBody } from '../protocol/error-codes.ts'

/** Why a purchase did not happen, and what that means for the money. */
export type BuyerErrorCode =
  /** An option of `createBuyer` or an argument is unusable. */
  | 'BAD_OPTION'
  /** The price is above `maxAmount`, or above what this call was offered before. Nothing was signed. */
  | 'OVER_LIMIT'
  /** All payments together would be above `maxTotal`. Nothing was signed. */
  | 'OVER_TOTAL'
  /** Scheme, network, token or host of the offer are not among those the buyer allows. Nothing was signed. */
  | 'OFFER_REFUSED'
  /** Several networks would do, and the payer holds too little on each. Nothing was signed. */
  | 'INSUFFICIENT_FUNDS'
  /** The 402 cannot be read as an x402 v2 offer. Nothing was signed. */
  | 'OFFER_UNREADABLE'
  /** This requestId belongs to a payment for something else. Nothing was sent. */
  | 'REQUEST_ID_REUSED'
  /** Time is up and the outcome is not known. The payload is kept: buy again with the same requestId. */
  | 'STILL_PENDING'
  /**
   * The seller says that no money moved. Until `retryAt` it could still take the payment, so that no other one is
   * signed: buy again with the same requestId afterwards.
   */
  | 'PAYMENT_FAILED'
  /** The chain shows that the payment was used, though the seller says that it was not. No other one is signed. */
  | 'ALREADY_USED'
  /**
   * A metered call is paid through Permit2, which the payer has not allowed to move that much of the token. The message
   * says how to approve it. Nothing was charged, and the payment is kept: buy again with the same requestId.
   */
  | 'ALLOWANCE_REQUIRED'
  /** The seller points to another origin, which got neither a payment nor the caller's credentials. */
  | 'REDIRECTED'
  /** An answer above `maxResponseBytes`; its body broke off. */
  | 'ANSWER_TOO_LARGE'
  /** Paid, not delivered; the refund is on its way, or done. */
  | 'REFUNDED'
  /**
   * The gateway refused the request for another reason; see `gateway`. Of a `fetch` with `credits: "buy"`: the plan with
   * this requestId was bought for the call, and the call could not be made with it.
   */
  | 'REFUSED'
  /** An answer that no gateway should give. The payload, if there is one, is kept. */
  | 'UNEXPECTED_ANSWER'

/** What is known beside the code of a `BuyerError`. */
export interface BuyerErrorDetails {
  requestId?: string | undefined
  statusUrl?: string | undefined
  /** The gateway's own error body. */
  gateway?: Partial<ErrorBody> | undefined
  /** When buying again with the same requestId may sign a new payment. */
  retryAt?: Date | undefined
  cause?: unknown
}

/**
 * Why a purchase did not happen. Its `code` says what that means for the money.
 *
 * @example
 * import { createBuyer } from 'paystile/buyer'
 * import { privateKeyToAccount } from 'viem/accounts'
 *
 * const buyer = createBuyer({ account: privateKeyToAccount('0x…'), maxAmount: '$1.00' })
 * try {
 *   await buyer.buy('https://api.example.com', { planId: 'basic', requestId: 'order-1' })
 * } catch (error) {
 *   // Nothing is lost: the same requestId goes on where this call has stopped.
 *   if (!(error instanceof BuyerError && error.code === 'STILL_PENDING')) throw error
 * }
 */
export class BuyerError extends Error {
  readonly code: BuyerErrorCode
  readonly requestId: string | undefined
  readonly statusUrl: string | undefined
  readonly gateway: Partial<ErrorBody> | undefined
  readonly retryAt: Date | undefined

  constructor(code: BuyerErrorCode, message: string, details: BuyerErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'BuyerError'
    this.code = code
    this.requestId = details.requestId
    this.statusUrl = details.statusUrl
    this.gateway = details.gateway
    this.retryAt = details.retryAt
  }
}
