import { dollarsToMicro } from '../../protocol/amount.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'

/** The plan with the lowest price; of several the first, in the seller's order. Undefined: no plan is sold. */
export function cheapestPlan(plans: DiscoveryCatalog['plans']): { planId: string } | undefined {
  const priced = plans.map(({ planId, unitAmount }) => ({ planId, micro: dollarsToMicro(unitAmount) }))
  const [first, ...others] = priced
  if (!first) return undefined
  const { planId } = others.reduce((lowest, one) => (one.micro < lowest.micro ? one : lowest), first)
  return { planId }
}
