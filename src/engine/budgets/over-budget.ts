import type { GatewayError } from '../../errors.ts'

/** The refusal of a claim for which a budget has no room. `later`: what is in flight now may make room. */
export interface OverBudget {
  error: GatewayError
  later: boolean
}
