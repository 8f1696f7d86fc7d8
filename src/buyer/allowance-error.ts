import { microToDollars } from '../protocol/amount.ts'
import type { ErrorBody } from '../protocol/error-codes.ts'
import { PERMIT2_ADDRESS } from '../protocol/permit2.ts'
import { BuyerError } from './buyer-error.ts'
import { networkName } from './buyer-networks.ts'
import type { StoredPayment } from './payment-storage.ts'
import type { SignedPermit } from './signed-payment.ts'

/**
 * The error of a payment that lacks its allowance.
 *
 * @param why what prevents the buyer from approving it itself; absent if its caller does not want that
 */
export function allowanceError(
  { amount, network }: StoredPayment,
  { from, asset, maxUnits }: SignedPermit,
  why: string | undefined,
  requestId: string | undefined,
  gateway?: Partial<ErrorBody>,
): BuyerError {
  const lack = `${from} has not let Permit2 move ${microToDollars(BigInt(amount))} of the token on ${networkName(network)}`
  const fix =
    why ?? `call approve(${PERMIT2_ADDRESS}, ${maxUnits} or more) on ${asset} once, or set approvePermit2`
  const message = `${lack}: ${fix}. Nothing was charged, and the payment is kept`
  return new BuyerError('ALLOWANCE_REQUIRED', message, { requestId, statusUrl: gateway?.statusUrl, gateway })
}
