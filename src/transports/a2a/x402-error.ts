import type { Payment } from '../../engine/outcome.ts'
import type { GatewayError } from '../../errors.ts'
import { ERROR_CODES } from '../../protocol/error-codes.ts'
import { explainReason } from '../../rules/explain-reason.ts'
import { networkOfRail } from '../../rules/rail-id.ts'

/** `x402.payment.error` of a failure: the table's code, or a finer one where the extension has it. */
export function x402Error({ code, message }: GatewayError, payment: Payment | undefined): string {
  const networks = payment?.claims.filter(({ about }) => about === 'network') ?? []
  // A payment on a network that is not offered was read as one on the preferred rail, and so disagrees with its id.
  const offered = payment && networkOfRail(payment.rail)
  if (code === 'INVALID_PROOF' && networks.some(({ value }) => value !== offered)) return 'NETWORK_MISMATCH'
  return code === 'PAYMENT_FAILED' ? settlementError(message) : ERROR_CODES[code].a2a.code
}

/** It has ended, or ends too soon; not one that is valid for too long. */
const EXPIRED = /(validBefore|deadline)\b.*\b(has passed|less than)\b/

/** By the words that the rules themselves use for a reason: they are all that is kept of it. */
export function settlementError(reason: string): string {
  if (reason.includes(explainReason('insufficient_funds'))) return 'INSUFFICIENT_FUNDS'
  return EXPIRED.test(reason) ? 'EXPIRED_PAYMENT' : ERROR_CODES.PAYMENT_FAILED.a2a.code
}
