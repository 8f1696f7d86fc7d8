import type { GatewayError } from '../../errors.ts'
import { ERROR_CODES } from '../../protocol/error-codes.ts'
import type { PaymentPayload } from '../../protocol/payment.ts'
import { explainReason } from '../../rules/check-payment.ts'

/** `x402.payment.error` of a failure: the table's code, or a finer one where the extension has it. */
export function x402Error(
  { code, message }: GatewayError,
  networkId: string,
  payment: PaymentPayload | undefined,
): string {
  const networks = [payment?.network, payment?.accepted?.network]
  if (code === 'INVALID_PROOF' && networks.some((id) => id !== undefined && id !== networkId)) {
    return 'NETWORK_MISMATCH'
  }
  return code === 'PAYMENT_FAILED' ? settlementError(message) : ERROR_CODES[code].a2a.code
}

/** By the words that the rules themselves use for a reason: they are all that is kept of it. */
export function settlementError(reason: string): string {
  if (reason.includes(explainReason('insufficient_funds'))) return 'INSUFFICIENT_FUNDS'
  return reason.includes('validBefore') ? 'EXPIRED_PAYMENT' : ERROR_CODES.PAYMENT_FAILED.a2a.code
}
