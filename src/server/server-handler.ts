import { UNPAID_HEADERS } from '../transports/http/headers.ts'
import { jsonReply, toResponse } from '../transports/http/reply.ts'
import { belowBasePath, requestPath, requestTarget } from '../transports/http/request-target.ts'
import type { Peer } from '../transports/http/safeguards.ts'
import { type OperatorHandler, redirect } from './operator-handler.ts'
import { pendingAnswer } from './pending-answer.ts'
import { sandboxDocuments } from './sandbox-documents.ts'

export interface ServerParts {
  basePath(): string
  /** `setup`: the operator must configure it. `starting`: it will sell as soon as its store answers. */
  phase(): 'setup' | 'starting' | 'live'
  /** Resolves when starting has ended, in success or failure, or after the limit. */
  untilStarted(limitMs: number): Promise<void>
  /** The operator's pages; undefined: they have a port of their own. */
  operator: OperatorHandler | undefined
  /** The gateway shows people at the base path what it sells. */
  hasShopWindow(): boolean
  metrics(request: Request, peer: Peer): Promise<Response>
  gateway(request: Request, peer: Peer): Response | Promise<Response>
  health(): Record<string, unknown>
}

const STARTING_MS = 10_000

/** Paths that the server itself may answer, below the base path. */
const OWN_PATH = /^\/($|setup|admin|metrics)/

/** Everything that the standalone server answers: its own pages and APIs, and the gateway for all the rest. */
export function createServerHandler(
  parts: ServerParts,
): (request: Request, peer?: Peer) => Response | Promise<Response> {
  function ownAnswer(request: Request, path: string, peer: Peer): Response | Promise<Response> | undefined {
    const shown = parts.operator?.(request, path, peer)
    if (shown) return shown
    if (path === '/metrics') return parts.metrics(request, peer)
    if (path !== '/' || parts.phase() !== 'live' || parts.hasShopWindow() || !leadsToPages(request))
      return undefined
    return redirect(`${parts.basePath()}/admin`)
  }

  /** Whoever opens the address itself, by whatever program: there is nothing else to be had there. */
  const asksForRoot = ({ method }: Request, path: string | undefined) =>
    parts.operator !== undefined && path === '/' && method === 'GET'
  const leadsToPages = (request: Request) => parts.operator !== undefined && wantsPage(request)

  const sell = async (request: Request, peer: Peer) =>
    sandboxDocuments(await parts.gateway(request, peer), request)

  async function notLive(request: Request, path: string | undefined, peer: Peer): Promise<Response> {
    // A request that comes a moment too early waits for the start to end; probes must get their answer at once.
    const probes = path === '/health' || path === '/ready'
    if (parts.phase() === 'starting' && !probes) await parts.untilStarted(STARTING_MS)
    if (parts.phase() === 'live') return sell(request, peer)
    if (path === '/health') return toResponse(jsonReply(200, UNPAID_HEADERS, parts.health()), request)
    const leads =
      parts.phase() === 'setup' && !probes && (leadsToPages(request) || asksForRoot(request, path))
    if (leads) return redirect(`${parts.basePath()}/setup`)
    return notServing(request, parts.phase() === 'setup')
  }

  return (request, peer = {}) => {
    const basePath = parts.basePath()
    const pathname = requestPath(request)
    const target = requestTarget(request)
    // A path that parsing has changed (such as /x/../admin) is never one of our pages: a proxy in front that protects /admin
    // has compared the path as it was sent.
    const isAsSent = target === pathname || target.split('?')[0] === pathname
    const below = pathname === basePath ? '/' : belowBasePath(pathname, basePath)
    const path = isAsSent ? below : undefined
    const own = path !== undefined && OWN_PATH.test(path) ? ownAnswer(request, path, peer) : undefined
    if (own) return own
    return parts.phase() === 'live' ? sell(request, peer) : notLive(request, path, peer)
  }
}

function wantsPage({ method, headers }: Request): boolean {
  return method === 'GET' && (headers.get('accept') ?? '').includes('text/html')
}

function notServing(request: Request, unconfigured: boolean): Response {
  const why = unconfigured
    ? 'This gateway is not configured yet: its operator opens /setup.'
    : 'This gateway is starting and sells in a moment.'
  const retryAfterSeconds = unconfigured ? 60 : 2
  // Before a restart the payment of this request may have been sent to the chain.
  const message = `${why} Send the same request again, with the same payment if it has one: it is charged once.`
  return pendingAnswer(request, message, { retryAfterSeconds, hint: 'send the same request again later' })
}
