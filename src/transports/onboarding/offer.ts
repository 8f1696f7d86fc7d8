import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import type { Network } from '../../protocol/network.ts'
import { priceWords } from '../price-words.ts'
import type { RouteSchemas } from '../route-schemas.ts'

/** All that the documents tell. What is switched off is false here, and no document mentions it. */
export interface Offer {
  discovery: DiscoveryCatalog
  /** Without a slash at the end. */
  baseUrl: string
  /** The first is preferred. At least one. */
  networks: readonly Network[]
  /** Where tokens are used, with `{resourceId}`. */
  resourceEndpoint: string
  /** The gateway answers calls of routes itself, in a ResourceResponse; otherwise the seller's own server does. */
  servesRoutes: boolean
  a2a: boolean
  mcp: boolean
  /** RS256 keys are published. */
  jwks: boolean
  agentVersion: string
  provider: { organization: string; url: string } | null
  /** Where directories and buyers reach the seller. */
  contactEmail: string | null
  /** What the seller says of the calls of routes, by routeId. */
  schemas?: ReadonlyMap<string, RouteSchemas>
}

/** Who is paid on this network. */
export function payToOn({ walletAddress, networks }: DiscoveryCatalog, networkId: string): string {
  return networks?.find(({ network }) => network === networkId)?.walletAddress ?? walletAddress
}

export type Plan = DiscoveryCatalog['plans'][number]
export type Route = DiscoveryCatalog['routes'][number]
export type PaidRoute = Route & {
  /** In words: a fixed price, or the most that a computed one may be. */
  price: string
  /** The most that a call costs. */
  most: string
}

export function paidRoutes({ discovery }: Offer): PaidRoute[] {
  return discovery.routes.flatMap((route) => paidRoute(route) ?? [])
}

/** Undefined: it is free. */
export function paidRoute(route: Route): PaidRoute | undefined {
  const most = route.unitAmount ?? route.maxAmount
  return most === undefined ? undefined : { ...route, price: priceWords(route), most }
}

/**
 * Where routes are called. Embedded ones are written as whole paths of the seller's server, wherever the gateway itself is
 * mounted on it.
 */
export function routeBase({ baseUrl, servesRoutes }: Offer): string {
  return servesRoutes ? baseUrl : new URL(baseUrl).origin
}

/** `/weather/:city` becomes `/weather/YOUR_CITY`. */
export function exampleUrl(offer: Offer, { path }: PaidRoute): string {
  return routeBase(offer) + path.replace(/\/:([^/]+)/g, (_, name: string) => `/YOUR_${name.toUpperCase()}`)
}
