import { GatewayError } from '../errors.ts'
import type { Subject } from '../facts.ts'
import { DEFAULT_RESOURCE_ID, type Resource } from '../protocol/access.ts'
import { dollarsToMicro } from '../protocol/amount.ts'
import type { Plan } from '../protocol/catalog.ts'

/** The seller's price list, computed once at boot. */
export interface Catalog {
  plans: ReadonlyMap<string, CatalogItem>
}

export interface CatalogItem {
  /** Micro-units. */
  amount: string
  description: string
}

export function buildCatalog(plans: readonly Plan[]): Catalog {
  return {
    plans: new Map(
      plans.map((plan) => [
        plan.planId,
        { amount: dollarsToMicro(plan.unitAmount).toString(), description: plan.description ?? plan.planId },
      ]),
    ),
  }
}

/** The ids that a request, its header and its echo named, already merged. */
export interface NamedItem {
  planId?: string
  routeId?: string
  resourceId?: string
  resource?: Resource
}

/** What the buyer wants, or why it cannot be sold. Asked before any money is. */
export function findSubject(
  catalog: Catalog,
  named: NamedItem,
): { subject: Subject; item: CatalogItem } | GatewayError {
  if (named.planId !== undefined && named.routeId !== undefined) {
    return new GatewayError('INVALID_REQUEST', 'planId and routeId were both given; send one of them.')
  }
  if (named.routeId !== undefined) {
    return new GatewayError('ROUTE_NOT_FOUND', `No route has the id ${JSON.stringify(named.routeId)}.`)
  }
  if (named.planId === undefined) {
    return new GatewayError('INVALID_REQUEST', 'planId is missing; GET /discover lists the plans.')
  }
  const item = catalog.plans.get(named.planId)
  if (!item) return new GatewayError('TIER_NOT_FOUND', `No plan has the id ${JSON.stringify(named.planId)}.`)
  const subject: Subject = {
    kind: 'plan',
    planId: named.planId,
    resourceId: named.resourceId ?? DEFAULT_RESOURCE_ID,
  }
  return { subject, item }
}
