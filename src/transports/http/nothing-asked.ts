import type { DiscoveryCatalog } from '../../protocol/catalog.ts'

/** Whoever names nothing to buy is told what could be named here. */
export function nothingAskedOf({ plans, routes }: Pick<DiscoveryCatalog, 'plans' | 'routes'>): string {
  if (plans.length > 0) return `planId${routes.length > 0 ? ' (or routeId and resource)' : ''} is missing.`
  if (routes.length > 0) return 'routeId and resource are missing.'
  return "Nothing is sold at this address: call the seller's routes directly."
}
