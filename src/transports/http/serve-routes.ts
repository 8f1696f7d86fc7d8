import type { Intent, Outcome, RouteCall } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { type Catalog, type CatalogRoute, routesAt } from '../../rules/catalog.ts'
import { decodeCallHeaders, soldMethod } from './decode-call.ts'
import type { Desk, Endpoint, Methods } from './endpoint.ts'
import { headerOf } from './native-request.ts'
import { type Forwarded, passOn } from './pass-on.ts'
import { readBytes } from './read-body.ts'
import { renderRaw } from './render-raw.ts'
import type { Reply } from './reply.ts'
import { requestTarget } from './request-target.ts'
import { andThen, type Soon } from './soon.ts'

export interface RouteOptions {
  catalog: Catalog
  /** Passes a free route's call on. */
  forwardFree(routeId: string, call: RouteCall): Promise<Forwarded>
}

/** Direct calls of routes. Answers what a path (below the base path) can be asked; a GatewayError for one that is no path. */
export function createRouteServer(
  desk: Desk,
  { catalog, forwardFree }: RouteOptions,
): (target: string) => Methods | GatewayError | undefined {
  const { engine, limits, render, safe } = desk

  function sell({ routeId, raw }: CatalogRoute): Endpoint {
    const rendered = (outcome: Outcome) => (raw ? renderRaw(outcome, render) : render.outcome(outcome))
    return (request, peer) => {
      const limited = headerOf(request, 'payment-signature') === null ? safe.limit(peer) : undefined
      if (limited) return limited
      const decoded = decodeCallHeaders(request)
      // A header that is no payment must not be a way around the limit.
      if (decoded instanceof GatewayError) return safe.limit(peer) ?? render.failure(decoded)
      const failing = decoded.payment && safe.limit(peer, decoded.payment)
      if (failing) return failing
      // An offer calls nothing: its headers go nowhere.
      return andThen(callOf(request, decoded.payment !== undefined), (call) => {
        if ('status' in call) return call
        const intent: Intent = { transport: 'http', routeId, call, address: peer.address, ...decoded }
        const offered = engine.offer(intent)
        if (offered) return render.outcome(offered)
        const challengeId = decoded.payment?.accepted?.extra?.challengeId
        return safe.guard(async () => rendered(await engine.purchase(intent)), challengeId)
      })
    }
  }

  function give({ routeId }: CatalogRoute): Endpoint {
    return async (request, peer) => {
      const limited = safe.limit(peer)
      if (limited) return limited
      const call = await callOf(request, true)
      if ('status' in call) return call
      return passOn(await forwardFree(routeId, { ...call, method: request.method }), render)
    }
  }

  function callOf(request: Request, isMade: boolean): Soon<RouteCall | Reply> {
    return andThen(readBytes(request, limits), (read) => {
      if (read.kind === 'fault') return render.failure(read.error, { httpStatus: read.httpStatus })
      const path = requestTarget(request).slice(desk.basePath.length)
      const body = read.bytes.length === 0 ? null : read.bytes
      const headers = isMade ? Object.fromEntries(request.headers) : {}
      return { method: soldMethod(request.method), path, headers, body }
    })
  }

  /** A fit path that only its query spoils may still be somebody else's. */
  function unfit(target: string): GatewayError | undefined {
    const pathname = target.split('?')[0]!
    if (routesAt(catalog, pathname)?.length === 0) return undefined
    const message =
      'the path or query has dot segments, backslashes or characters that must be percent-encoded; nothing was charged'
    return new GatewayError('INVALID_REQUEST', message, { hint: 'send it as a URL parser writes it' })
  }

  const methodsOf = new Map(
    [...catalog.routes.values()].map((route): [CatalogRoute, Methods] => [
      route,
      { [route.method]: route.free ? give(route) : sell(route) },
    ]),
  )

  return (target) => {
    const routes = routesAt(catalog, target)
    if (!routes) return unfit(target)
    if (routes.length === 1) return methodsOf.get(routes[0]!)
    return routes.length === 0 ? undefined : Object.assign({}, ...routes.map((route) => methodsOf.get(route)))
  }
}
