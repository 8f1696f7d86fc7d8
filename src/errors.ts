import { ERROR_CODES, type ErrorBody, type ErrorCode, type TopUp } from './protocol/error-codes.ts'

/** Facts that travel with a failure to the buyer. Never a token, a signature or a key. */
export interface ErrorDetails {
  retryAfterSeconds?: number
  hint?: string
  challengeId?: string
  txHash?: string
  refund?: { state: string; txHash?: string; when?: string }
  topUp?: TopUp
}

/**
 * A failure with one code of the error table. Of what a buyer did it is part of a result; the gateway's methods reject with it
 * where their caller did something wrong.
 *
 * @example
 * function asResponse(error: GatewayError): Response {
 *   return Response.json(error.toBody(), { status: error.httpStatus })
 * }
 */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'GatewayError'
    this.code = code
    this.details = details
  }

  get httpStatus(): number {
    return ERROR_CODES[this.code].httpStatus
  }

  toBody(statusUrl?: string): ErrorBody {
    const { retryAfterSeconds, hint, txHash, refund, topUp } = this.details
    return {
      type: 'Error',
      code: this.code,
      message: this.message,
      httpStatus: this.httpStatus,
      retryable: ERROR_CODES[this.code].retryable,
      hint: hint ?? ERROR_CODES[this.code].fix,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...(statusUrl !== undefined && { statusUrl }),
      ...(txHash !== undefined && { txHash }),
      ...(refund !== undefined && { refund }),
      ...(topUp !== undefined && { topUp }),
    }
  }
}

/**
 * Bad configuration: every fault at once, one line each, so that a seller fixes them in one go.
 *
 * @example
 * function explain(error: unknown): void {
 *   if (error instanceof ConfigError) for (const fault of error.faults) console.error(fault)
 * }
 */
export class ConfigError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'ConfigError'
    this.faults = faults
  }
}

/** The store or the chain could not be asked. Nothing is known, so nothing is decided. */
export class UnavailableError extends Error {
  /** `why`: what is known of the reason, in words that a log or an operator may see. */
  constructor(what: string, cause?: unknown, why?: string) {
    super(
      `${what} is unavailable${why === undefined ? '' : `: ${why}`}`,
      cause === undefined ? undefined : { cause },
    )
    this.name = 'UnavailableError'
  }
}
