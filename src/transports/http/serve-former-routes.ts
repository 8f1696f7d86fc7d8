import type { Intent, Outcome } from '../../engine/outcome.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import type { ErrorCode } from '../../protocol/error-codes.ts'
import { parseChallengeId } from '../../rules/challenge-id.ts'
import { parseResourcePath } from '../../rules/resource-path.ts'
import { indexPatterns, parsePattern } from '../../rules/route-pattern.ts'
import { withoutCors } from './charge-metered.ts'
import { decodeCallHeaders } from './decode-call.ts'
import type { EndpointContext } from './endpoint.ts'
import { headersOf } from './native-request.ts'
import { readBytes } from './read-body.ts'
import { renderRaw } from './render-raw.ts'
import type { Reply } from './reply.ts'
import { belowBasePath, requestTarget } from './request-target.ts'
import type { Peer } from './safeguards.ts'

/** How the engine refuses a payment that it has not taken before, for a call that is not sold. */
const NOT_TAKEN: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['ROUTE_NOT_FOUND', 'INVALID_REQUEST'])

/** Undefined: the request is none of the gateway's. */
export type FormerRoutes = (request: Request, peer: Peer, readsBody: boolean) => Promise<Reply | undefined>

/**
 * Calls whose route is no longer sold. Whoever paid for one before sends the same request again, as it was told to, and
 * gets what the engine has stored of it. A payment that was not taken while the route was sold buys nothing.
 *
 * `readsBody`: the body is part of what was sold. Where the seller's own handlers answer, it is not, and is theirs to read.
 */
export function createFormerRoutes(
  { engine, dialects, limits, render, basePath, admit, catchFaults }: EndpointContext,
  { routes }: Pick<DiscoveryCatalog, 'routes'>,
): FormerRoutes {
  const routesAt = indexPatterns(routes.map(({ method, path }) => ({ method, pattern: parsePattern(path) })))

  function isSold(method: string, path: string): boolean {
    const pathname = parseResourcePath(path)?.pathname
    // What is no plain path was never sold.
    if (pathname === undefined) return true
    return routesAt(pathname).some((route) => route.method === method)
  }

  return async (request, peer, readsBody) => {
    const { spoken, asked } = decodeCallHeaders(dialects, request)
    const { routeId, challengeId = '' } = ('payment' in asked && asked.payment?.echo) || {}
    // Other sellers on the same host have payments, too.
    if (routeId === undefined || !parseChallengeId(challengeId)) return undefined
    const { method } = request
    const target = requestTarget(request)
    const path = belowBasePath(target, basePath) ?? target
    if (isSold(method, path)) return undefined
    const admitted = admit(peer, asked, { spoken })
    if ('status' in admitted) return admitted
    const read = readsBody ? await readBytes(request, limits) : undefined
    if (read?.kind === 'fault') return render.failure(read.error, { httpStatus: read.httpStatus, spoken })
    const body = read && read.bytes.length > 0 ? read.bytes : null
    const call = { method, path, headers: headersOf(request), body }
    const intent: Intent = { transport: 'http', routeId, call, address: peer.address, ...admitted }
    const answered = await catchFaults(
      async () => {
        const outcome = await engine.purchase(intent)
        if (outcome.kind === 'failed' && NOT_TAKEN.has(outcome.error.code)) return { isNotTaken: true }
        const reply = renderRaw(withoutOffer(outcome), render, spoken)
        return readsBody ? reply : withoutCors(reply, outcome)
      },
      { challengeId, spoken },
    )
    return 'isNotTaken' in answered ? undefined : answered
  }
}

/** What is no longer sold is not offered again. */
function withoutOffer(outcome: Outcome): Outcome {
  if (outcome.kind !== 'failed') return outcome
  const { offer: _, ...failure } = outcome
  return failure
}
