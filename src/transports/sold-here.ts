import type { DiscoveryCatalog } from '../protocol/catalog.ts'

/**
 * What `POST /x402/access` and the agents' transports sell. Calls that the seller's own server answers, and free ones, are
 * made there directly and refused here; so they are not offered here either.
 *
 * @param servesRoutes the gateway itself answers calls of routes
 */
export function soldHere(discovery: DiscoveryCatalog, servesRoutes: boolean): DiscoveryCatalog {
  return { ...discovery, routes: servesRoutes ? discovery.routes.filter(({ free }) => !free) : [] }
}
