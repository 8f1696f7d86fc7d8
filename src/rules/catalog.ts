import { GatewayError } from '../errors.ts'
import type { Subject } from '../facts.ts'
import { DEFAULT_RESOURCE_ID } from '../protocol/access.ts'
import { dollarsToMicro } from '../protocol/amount.ts'
import type { Plan, Route } from '../protocol/catalog.ts'
import { UPTO_SCHEME } from '../protocol/permit2.ts'
import { parseResourcePath } from './resource-path.ts'
import { indexPatterns, matchPattern, parsePattern, type RoutePattern } from './route-pattern.ts'
import { routeSubject } from './terms.ts'

export interface CatalogItem {
  /** Micro-units. Of a computed price it is the most that a call may cost. */
  amount: string
  /** The price differs from call to call, and is asked for every offer. */
  isComputed?: true
  /** The call decides what is charged, and `amount` is the most: it is sold by metered schemes only. */
  isMetered?: true
  description: string
}

export interface CatalogPlan extends CatalogItem {
  /** 0: none. */
  credits: number
}

/** What a plan grants with its price; what a call costs is no part of what a payment buys. */
export const grantedBy = (subject: Subject, item: CatalogItem): number =>
  subject.kind === 'plan' ? (item as CatalogPlan).credits : 0

export interface CatalogRoute extends CatalogItem {
  routeId: string
  method: string
  path: string
  pattern: RoutePattern
  free: boolean
  /** A direct call of it gets the backend's own answer. */
  raw: boolean
  /** What a prepaid call costs; 0: it cannot be prepaid. */
  credits: number
  /** Metered routes: what is charged if the answer does not say. */
  chargeIfUnstated?: 'maximum' | 'nothing'
  /** Metered routes: the micro-dollars of answers that may go out before they are paid. Absent: none do. */
  stream?: { perPayer: number; inAll: number }
}

/** The seller's price list, computed once at boot. */
export interface Catalog {
  plans: ReadonlyMap<string, CatalogPlan>
  routes: ReadonlyMap<string, CatalogRoute>
}

export function buildCatalog(plans: readonly Plan[], routes: readonly Route[] = []): Catalog {
  const amount = (price: string): string => dollarsToMicro(price).toString()
  return {
    plans: new Map(
      plans.map(({ planId, unitAmount, description = planId, credits = 0 }) => [
        planId,
        { amount: amount(unitAmount), description, credits },
      ]),
    ),
    routes: new Map(
      routes.map(
        ({
          routeId,
          method,
          path,
          unitAmount,
          maxAmount,
          free = false,
          raw = false,
          credits = 0,
          scheme,
          chargeIfUnstated,
          stream,
          description = routeId,
        }) => [
          routeId,
          {
            routeId,
            method,
            path,
            pattern: parsePattern(path),
            free,
            raw,
            credits,
            description,
            amount: typeof unitAmount === 'string' ? amount(unitAmount) : maxAmount ? amount(maxAmount) : '0',
            ...(chargeIfUnstated && { chargeIfUnstated }),
            ...(stream && {
              stream: {
                perPayer: Number(amount(stream.maxUnpaidPerPayer)),
                inAll: Number(amount(stream.maxUnpaid)),
              },
            }),
            ...(maxAmount !== undefined &&
              (scheme === UPTO_SCHEME ? { isMetered: true as const } : { isComputed: true as const })),
          },
        ],
      ),
    ),
  }
}

/** The call that a buyer wants to make, as the transport understood it. */
export interface AskedCall {
  method: string
  path: string
  body: Uint8Array | null
}

/** The ids from a request, its header and the offer that it repeats, already merged. */
export interface NamedItem {
  planId?: string | undefined
  routeId?: string | undefined
  resourceId?: string | undefined
  call?: AskedCall | undefined
}

/** Finds what the buyer wants, or why it cannot be sold, before any money is asked for. */
export function findSubject(
  catalog: Catalog,
  named: NamedItem,
): { subject: Subject; item: CatalogItem } | GatewayError {
  const { planId, routeId, resourceId = DEFAULT_RESOURCE_ID } = named
  if (planId !== undefined && routeId !== undefined) {
    return new GatewayError('INVALID_REQUEST', 'planId and routeId were both given; send one of them.')
  }
  if (routeId !== undefined) return findRoute(catalog, routeId, resourceId, named.call)
  if (planId === undefined) {
    return new GatewayError('INVALID_REQUEST', 'planId is missing; GET /discover lists the plans.')
  }
  const item = catalog.plans.get(planId)
  if (!item) return new GatewayError('TIER_NOT_FOUND', `No plan has the id ${JSON.stringify(planId)}.`)
  return { subject: { kind: 'plan', planId, resourceId }, item }
}

function findRoute(catalog: Catalog, routeId: string, resourceId: string, call: AskedCall | undefined) {
  const route = catalog.routes.get(routeId)
  if (!route) return new GatewayError('ROUTE_NOT_FOUND', `No route has the id ${JSON.stringify(routeId)}.`)
  const shape = `${route.method} ${route.path}`
  if (!call) {
    const message = `Route ${routeId} sells one exact call: send resource {method, path} that fits ${shape}.`
    return new GatewayError('RESOURCE_REQUIRED', message)
  }
  if (route.free)
    return new GatewayError('INVALID_REQUEST', `Route ${routeId} is free: call ${shape} directly.`)
  if (call.method !== route.method || !fitsRoute(route, call.path)) {
    const asked = `${call.method} ${call.path}`.slice(0, 200)
    return new GatewayError(
      'ROUTE_NOT_FOUND',
      `resource ${JSON.stringify(asked)} does not fit route ${routeId} (${shape}).`,
    )
  }
  return { subject: routeSubject(routeId, resourceId, call), item: route }
}

function fitsRoute(route: CatalogRoute, path: string): boolean {
  const parsed = parseResourcePath(path)
  return parsed !== undefined && matchPattern(route.pattern, parsed.pathname) !== undefined
}

/**
 * Finds the routes that a direct call of a path may mean, paid or free: at most one per method. Undefined: the path
 * cannot be a route's.
 */
export function createRouteFinder({
  routes,
}: Pick<Catalog, 'routes'>): (path: string) => CatalogRoute[] | undefined {
  const fitting = indexPatterns(routes.values())
  return (path) => {
    const parsed = parseResourcePath(path)
    return parsed && fitting(parsed.pathname)
  }
}
