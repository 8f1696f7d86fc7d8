/**
 * How each failure is shown on every transport. This table is the only source; a test compares docs/errors.md with
 * it.
 */
interface ErrorCodeRow {
  httpStatus: number
  /** The same request may succeed if it is sent again. */
  retryable: boolean
  /** A2A task state, and the code in `x402.payment.error`. */
  a2a: { state: 'input-required' | 'failed' | 'working'; code: string }
  /** MCP: with the payment requirements, or as a plain error. */
  mcp: 'requirements' | 'error'
  when: string
  fix: string
}

/**
 * Every failure that a buyer can meet: its HTTP status, whether the same request may succeed later, and what to do.
 *
 * @example
 * const { httpStatus, fix } = ERROR_CODES.PAYMENT_FAILED
 * console.log(`HTTP ${httpStatus}: ${fix}`)
 */
export const ERROR_CODES = {
  INVALID_REQUEST: {
    httpStatus: 400,
    retryable: false,
    a2a: { state: 'input-required', code: 'INVALID_REQUEST' },
    mcp: 'error',
    when: 'the body or the payment-signature header is malformed, or ids contradict each other',
    fix: 'fix the part that the message names',
  },
  METHOD_UNSUPPORTED: {
    httpStatus: 400,
    retryable: false,
    a2a: { state: 'failed', code: 'INVALID_REQUEST' },
    mcp: 'error',
    when: 'a Payment credential is for a method or intent that was not offered',
    fix: 'pay by one of the challenges of the 402',
  },
  TIER_NOT_FOUND: {
    httpStatus: 400,
    retryable: false,
    a2a: { state: 'failed', code: 'TIER_NOT_FOUND' },
    mcp: 'error',
    when: 'planId matches no plan',
    fix: 'use a planId from GET /discover',
  },
  ROUTE_NOT_FOUND: {
    httpStatus: 400,
    retryable: false,
    a2a: { state: 'failed', code: 'ROUTE_NOT_FOUND' },
    mcp: 'error',
    when: 'routeId matches no route, or resource does not fit it',
    fix: 'use a routeId from GET /discover and a resource that fits its method and path',
  },
  RESOURCE_REQUIRED: {
    httpStatus: 400,
    retryable: false,
    a2a: { state: 'input-required', code: 'RESOURCE_REQUIRED' },
    mcp: 'error',
    when: 'a route is asked for without resource',
    fix: 'send resource {method, path}',
  },
  AMOUNT_MISMATCH: {
    httpStatus: 400,
    retryable: false,
    a2a: { state: 'input-required', code: 'INVALID_AMOUNT' },
    mcp: 'requirements',
    when: 'authorization.value or accepted.amount differs from the challenge',
    fix: 'read amount again and sign again',
  },
  INVALID_PROOF: {
    httpStatus: 400,
    retryable: false,
    a2a: { state: 'input-required', code: 'INVALID_SIGNATURE' },
    mcp: 'requirements',
    when: 'the signature does not verify, or destination, network, asset, scheme or payer do not fit the challenge',
    fix: 'sign again with the domain and the requirements of the 402',
  },
  UNAUTHORIZED: {
    httpStatus: 401,
    retryable: false,
    a2a: { state: 'failed', code: 'UNAUTHORIZED' },
    mcp: 'error',
    when: 'a protected resource is called without a valid bearer token, or a sign-in proves no wallet',
    fix: 'buy a plan and send its token as Authorization: Bearer',
  },
  PAYMENT_FAILED: {
    httpStatus: 402,
    retryable: false,
    a2a: { state: 'input-required', code: 'SETTLEMENT_FAILED' },
    mcp: 'requirements',
    when: "verification or settlement failed (balance, validity window, a reverted transfer, a facilitator's refusal); no money moved, in the last case by the facilitator's word",
    fix: 'fix what the message names and sign a new authorization',
  },
  CREDITS_EXHAUSTED: {
    httpStatus: 402,
    retryable: false,
    a2a: { state: 'input-required', code: 'CREDITS_EXHAUSTED' },
    mcp: 'requirements',
    when: 'the account has fewer credits than the call costs; nothing was debited',
    fix: 'buy the plan that topUp names, or pay for this one call',
  },
  CHALLENGE_NOT_FOUND: {
    httpStatus: 404,
    retryable: false,
    a2a: { state: 'failed', code: 'CHALLENGE_NOT_FOUND' },
    mcp: 'error',
    when: 'the challengeId was not issued by this gateway',
    fix: 'ask for a new challenge',
  },
  TX_ALREADY_REDEEMED: {
    httpStatus: 409,
    retryable: false,
    a2a: { state: 'failed', code: 'DUPLICATE_NONCE' },
    mcp: 'error',
    when: 'the payment was used already: for a purchase of which the request does not prove to be the buyer, for another challenge, on the chain before it reached us, or for a call whose answer is not kept',
    fix: 'do what the message says; a new authorization is charged unless it says that it is not',
  },
  IDEMPOTENCY_CONFLICT: {
    httpStatus: 409,
    retryable: false,
    a2a: { state: 'failed', code: 'IDEMPOTENCY_CONFLICT' },
    mcp: 'error',
    when: 'the Idempotency-Key of a prepaid call was used for another call, or its answer is not stored; nothing was debited',
    fix: 'send another Idempotency-Key for another call',
  },
  CHALLENGE_EXPIRED: {
    httpStatus: 410,
    retryable: false,
    a2a: { state: 'failed', code: 'CHALLENGE_EXPIRED' },
    mcp: 'error',
    when: 'the challenge expired, was cancelled, or had too many payments that failed, and this gateway knows of no money for it',
    fix: 'ask for a new challenge; if you have paid this one, ask the seller instead',
  },
  CHALLENGE_REFUNDED: {
    httpStatus: 410,
    retryable: false,
    a2a: { state: 'failed', code: 'CHALLENGE_REFUNDED' },
    mcp: 'error',
    when: 'delivery failed and the payment is being, or was, refunded',
    fix: 'follow statusUrl; ask for a new challenge to buy again',
  },
  PERMIT2_ALLOWANCE_REQUIRED: {
    httpStatus: 412,
    retryable: false,
    a2a: { state: 'input-required', code: 'PERMIT2_ALLOWANCE_REQUIRED' },
    mcp: 'requirements',
    when: 'a metered call is paid by a wallet that has not let Permit2 move that much of the token; nothing was charged',
    fix: 'approve the token for Permit2, 0x000000000022d473030f116ddee9f6b43ac78ba3, once, and send the payment again',
  },
  BODY_TOO_LARGE: {
    httpStatus: 413,
    retryable: false,
    a2a: { state: 'failed', code: 'BODY_TOO_LARGE' },
    mcp: 'error',
    when: 'the request body exceeds the limit',
    fix: 'send a smaller body',
  },
  RATE_LIMITED: {
    httpStatus: 429,
    retryable: true,
    a2a: { state: 'working', code: 'RATE_LIMITED' },
    mcp: 'error',
    when: 'too many unpaid requests, failing payments or open answers of free routes from one address, or too many failing payments or undelivered calls from one payer, or proofs of transfers for one challenge',
    fix: 'wait for Retry-After seconds',
  },
  INTERNAL_ERROR: {
    httpStatus: 500,
    retryable: true,
    a2a: { state: 'working', code: 'INTERNAL_ERROR' },
    mcp: 'error',
    when: 'a conflict between concurrent requests, or an unexpected fault',
    fix: 'send the same request again',
  },
  CALL_FAILED: {
    httpStatus: 502,
    retryable: true,
    a2a: { state: 'working', code: 'CALL_FAILED' },
    mcp: 'error',
    when: 'a metered call was not answered well, or its answer named no valid charge; nothing was charged',
    fix: 'send the same payload again, which makes the call again; or leave it, and nothing is ever charged',
  },
  DELIVERY_FAILED: {
    httpStatus: 502,
    retryable: false,
    a2a: { state: 'failed', code: 'DELIVERY_FAILED' },
    mcp: 'error',
    when: 'the payment is confirmed but what it bought could not be delivered; a refund is on its way',
    fix: 'follow statusUrl until the refund is there',
  },
  PRICE_TOO_HIGH: {
    httpStatus: 502,
    retryable: false,
    a2a: { state: 'failed', code: 'PRICE_TOO_HIGH' },
    mcp: 'error',
    when: "the computed price of the call is above the route's maxAmount, so it is not sold; nothing was charged",
    fix: 'ask for something smaller, or tell the seller',
  },
  PRICE_UNAVAILABLE: {
    httpStatus: 503,
    retryable: true,
    a2a: { state: 'working', code: 'PRICE_UNAVAILABLE' },
    mcp: 'error',
    when: 'the price of the call is computed and cannot be had now; nothing was charged',
    fix: 'send the same request again after Retry-After seconds',
  },
  SETTLEMENT_PENDING: {
    httpStatus: 503,
    retryable: true,
    a2a: { state: 'working', code: 'SETTLEMENT_PENDING' },
    mcp: 'error',
    when: 'the payment may have been sent and its outcome is not known yet, or the store or chain cannot be reached',
    fix: 'send the same payload again after Retry-After seconds; never sign a new one',
  },
} as const satisfies Record<string, ErrorCodeRow>

/** The code of one failure: a row of `ERROR_CODES`. */
export type ErrorCode = keyof typeof ERROR_CODES

/** The JSON error body of every transport. */
export interface ErrorBody {
  type: 'Error'
  code: ErrorCode
  message: string
  httpStatus: number
  retryable?: boolean
  retryAfterSeconds?: number
  hint?: string
  statusUrl?: string
  txHash?: string
  refund?: { state: string; txHash?: string; when?: string }
  /** The plan that fills an account again. */
  topUp?: TopUp
}

/** A plan with credits, as an exhausted account is told of it. */
export interface TopUp {
  planId: string
  credits: number
  /** Micro-dollars. */
  amount: string
}
