import type { EmbeddedGateway } from './embedding.ts'

/** Who charged for a request, and for what. */
interface Guard {
  gateway: EmbeddedGateway
  routeId: string
}

/** Not on the request itself: what other code can set there would open the route. */
const guards = new WeakMap<object, Guard>()

/**
 * Whether this request was charged for already, by a guard of the same gateway and route further in front: one payment cannot be made
 * twice, and it would wait for itself. `request`: the framework's own object for it.
 */
export function isCharged(request: object, gateway: EmbeddedGateway, routeId: string): boolean {
  const first = guards.get(request)
  if (!first) return false
  if (first.gateway === gateway && first.routeId === routeId) return true
  const isOther = first.gateway !== gateway
  const [paid, due] = [first, { gateway, routeId }].map((guard) => nameOf(guard, isOther))
  throw new Error(
    `payPerRequest: this request paid for the route ${paid}, and is to pay for ${due} as well; a request pays once. Leave one of the two out.`,
  )
}

/** To be called once it is: `isCharged` knows of no other way. */
export function markCharged(request: object, gateway: EmbeddedGateway, routeId: string): void {
  guards.set(request, { gateway, routeId })
}

/** Two gateways may have one name. */
function nameOf({ gateway: { discovery }, routeId }: Guard, withGateway: boolean): string {
  const route = JSON.stringify(routeId)
  if (!withGateway) return route
  return `${route} of ${JSON.stringify(discovery.agentName)} (wallet ${discovery.walletAddress})`
}
