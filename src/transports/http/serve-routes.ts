import type { Spoken } from '../../dialects/mpp/spoken.ts'
import type { Forwarded, Intent, Outcome, RouteCall } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { type Catalog, type CatalogRoute, createRouteFinder } from '../../rules/catalog.ts'
import { WITHOUT_PAYMENT } from './admit.ts'
import { type Challenge, createSpenderAdmission } from './admit-spender.ts'
import { type CallHeaders, decodeCallHeaders, soldMethod, spokenOf } from './decode-call.ts'
import type { Endpoint, EndpointContext, Methods } from './endpoint.ts'
import { PAID_HEADERS } from './headers.ts'
import { createLiveAnswer } from './live-answer.ts'
import { headersOf } from './native-request.ts'
import { readBytes } from './read-body.ts'
import { renderPrepaid } from './render-prepaid.ts'
import { renderRaw } from './render-raw.ts'
import type { Reply } from './reply.ts'
import { requestTarget } from './request-target.ts'
import type { Peer } from './safeguards.ts'

/** Pages of any origin may read an answer that they paid. */
const CORS = {
  'access-control-allow-origin': PAID_HEADERS['access-control-allow-origin'],
  'access-control-expose-headers': '*',
}

export interface RouteOptions {
  catalog: Catalog
  /** Sends the call of a free route to the backend. */
  forwardFree(routeId: string, call: RouteCall): Promise<Forwarded>
}

/** Direct calls of routes. Says which methods a path (below the base path) has; a GatewayError for one that is no path. */
export function createRouteServer(
  context: EndpointContext,
  { catalog, forwardFree }: RouteOptions,
): (target: string) => Methods | GatewayError | undefined {
  const { engine, dialects, limits, render, admit, passOn, catchFaults, credits, paymentPage } = context
  const admission = credits && createSpenderAdmission(credits.readSpender, context)
  const routesAt = createRouteFinder(catalog)

  /** A call by the holder of credits; undefined: the request brings no token or sign-in, and so may pay. */
  function servePrepaid(
    { routeId, raw }: CatalogRoute,
    request: Request,
    peer: Peer,
    { spoken, asked }: ReturnType<typeof decodeCallHeaders>,
  ): Promise<Reply | Response> | undefined {
    const entering = admission?.admitSpender(request, peer, { spoken, asked })
    return (
      entering &&
      catchFaults(
        async (): Promise<Reply | Response> => {
          const spender = await entering
          if ('status' in spender) return spender
          const call = await callOf(request, true, spoken)
          if ('status' in call) return call
          delete call.headers.authorization
          const { requestId: idempotencyKey } = asked as CallHeaders
          const outcome = await credits!.spend({ transport: 'http', routeId, call, spender, idempotencyKey })
          if (outcome.kind === 'reserved') throw new Error(`route ${routeId} is not embedded`)
          if (outcome.kind === 'failed') return admission!.refuse(request, peer, outcome, spoken)
          return renderPrepaid(outcome, raw, render, spoken)
        },
        { spoken },
      )
    )
  }

  function servePaid(route: CatalogRoute): Endpoint {
    const { routeId, raw } = route
    const rendered = (outcome: Outcome, spoken: Spoken) =>
      raw ? renderRaw(outcome, render, spoken) : render.outcome(outcome, spoken)
    const terms = (challenge: Challenge, request: Request, spoken: Spoken) =>
      route.credits > 0 && admission
        ? admission.challenge(request, challenge, spoken)
        : render.outcome(challenge, spoken)
    return async (request, peer) => {
      const decoded = decodeCallHeaders(dialects, request)
      const prepaid = route.credits > 0 ? servePrepaid(route, request, peer, decoded) : undefined
      if (prepaid) return prepaid
      const { spoken, asked } = decoded
      const admitted = admit(peer, asked, { spoken })
      if ('status' in admitted) return admitted
      // Without a payment nothing is called: only the terms are asked for, and the headers are not needed.
      const call = await callOf(request, admitted.payment !== undefined, spoken)
      if ('status' in call) return call
      const intent: Intent = { transport: 'http', routeId, call, address: peer.address, ...admitted }
      const offered = engine.offer(intent)
      if (offered) {
        if (paymentPage?.isWanted(request)) return paymentPage.show(render.outcome(offered, spoken))
        return offered.kind === 'challenge'
          ? terms(offered, request, spoken)
          : render.outcome(offered, spoken)
      }
      const challengeId = admitted.payment?.echo.challengeId
      const live = route.stream && createLiveAnswer(CORS)
      if (live) call.stream = live.stream
      const ended = catchFaults(
        async () => {
          const outcome = await engine.purchase(intent)
          if (outcome.kind !== 'challenge') return rendered(outcome, spoken)
          if (paymentPage?.isWanted(request)) return paymentPage.show(render.outcome(outcome, spoken))
          return terms(outcome, request, spoken)
        },
        { challengeId, spoken },
      )
      return live ? live.firstOf(ended) : ended
    }
  }

  function serveFree({ routeId }: CatalogRoute): Endpoint {
    return async (request, peer) => {
      const spoken = spokenOf(request)
      const admitted = admit(peer, WITHOUT_PAYMENT, { spoken })
      if ('status' in admitted) return admitted
      const call = await callOf(request, true, spoken)
      if ('status' in call) return call
      return passOn(peer.address, () => forwardFree(routeId, { ...call, method: request.method }), spoken)
    }
  }

  async function callOf(request: Request, isMade: boolean, spoken: Spoken): Promise<RouteCall | Reply> {
    const read = await readBytes(request, limits)
    if (read.kind === 'fault') return render.failure(read.error, { httpStatus: read.httpStatus, spoken })
    const path = requestTarget(request).slice(context.basePath.length)
    const body = read.bytes.length === 0 ? null : read.bytes
    const headers = isMade ? headersOf(request) : {}
    return { method: soldMethod(request.method), path, headers, body }
  }

  /** Undefined where only the query is malformed, and the path is none of our routes: it may be somebody else's. */
  function malformed(target: string): GatewayError | undefined {
    const pathname = target.split('?')[0]!
    if (routesAt(pathname)?.length === 0) return undefined
    const message =
      'the path or query has dot segments, backslashes or characters that must be percent-encoded; nothing was charged'
    return new GatewayError('INVALID_REQUEST', message, { hint: 'send it as a URL parser writes it' })
  }

  const methodsOf = new Map(
    [...catalog.routes.values()].map((route): [CatalogRoute, Methods] => [
      route,
      { [route.method]: route.free ? serveFree(route) : servePaid(route) },
    ]),
  )

  return (target) => {
    const routes = routesAt(target)
    if (!routes) return malformed(target)
    if (routes.length === 1) return methodsOf.get(routes[0]!)
    return routes.length === 0 ? undefined : Object.assign({}, ...routes.map((route) => methodsOf.get(route)))
  }
}
