import type { GatewayError } from '../../errors.ts'
import type { AuthorizationRow, SimResult } from '../../ports.ts'
import { explainReason } from '../../rules/explain-reason.ts'
import type { OpenRail } from '../rails.ts'
import { ALLOWANCE_REQUIRED, allowanceRequired, paymentFailed, usedWithoutSale } from '../refusals.ts'

/** Why a payment that was looked at may not be sent; undefined if it may. */
export function refusalOf(
  { scheme, network }: OpenRail,
  attempt: AuthorizationRow,
  result: SimResult,
  chainTime: number,
): GatewayError | undefined {
  const challenge = { key: attempt.challengeId }
  if (result.kind === 'used') return usedWithoutSale(challenge)
  const fault = scheme.validityFault(attempt.auth, chainTime)
  if (fault) return paymentFailed(challenge, fault)
  if (result.kind === 'fails' && result.reason === ALLOWANCE_REQUIRED)
    return allowanceRequired(challenge, network.token.address, attempt.value)
  return result.kind === 'fails' ? paymentFailed(challenge, explainReason(result.reason)) : undefined
}
