import { requestPath, requestTarget } from '../transports/http/request-target.ts'
import type { Peer } from '../transports/http/safeguards.ts'
import { apiReply } from './api-reply.ts'
import type { Auth } from './auth/create-auth.ts'

type Endpoint = (request: Request, path: string, peer: Peer) => Promise<Response | undefined>

export interface OperatorParts {
  /** What the paths of the pages begin with, for redirects. */
  basePath(): string
  phase(): 'setup' | 'starting' | 'live'
  auth: Auth
  setupApi: Endpoint
  /** The API of the running gateway; undefined while none runs. */
  adminApi(): Endpoint | undefined
  pages(request: Request, path: string): Response | undefined
}

/** Undefined: not a path of the operator's pages. */
export type OperatorHandler = (
  request: Request,
  path: string,
  peer: Peer,
) => Response | Promise<Response> | undefined

/** `/setup` and `/admin`, pages and APIs; `path` is below the base path. */
export function createOperatorHandler(parts: OperatorParts): OperatorHandler {
  /** Callers are logged in from here on. */
  async function operatorApi(request: Request, path: string, peer: Peer): Promise<Response> {
    const own = await parts.auth.answer(request, path, peer)
    if (own) return own
    const refused = parts.auth.refuse(request, peer)
    if (refused) return refused
    const api = path.startsWith('/setup/') ? parts.setupApi : parts.adminApi()
    if (!api) return apiReply(503, { error: 'The gateway is not running yet; see /setup.' })
    return (await api(request, path, peer)) ?? apiReply(404, { error: 'There is no such endpoint.' })
  }

  return (request, path, peer) => {
    if (/^\/(setup|admin)\/api(\/|$)|^\/admin\/mcp$/.test(path)) return operatorApi(request, path, peer)
    const answered = parts.pages(request, path)
    if (!answered || !/^\/(setup|admin)$/.test(path) || answered.status !== 200) return answered
    if (parts.phase() === 'setup') {
      // With its query: the address that is printed for the next login has a token there.
      const { search } = new URL(request.url)
      return path === '/admin' ? redirect(`${parts.basePath()}/setup${search}`) : answered
    }
    if (parts.auth.sessionOf(request)) return answered
    // Without a session the same page shows the login and nothing else.
    return new Response(answered.body, { status: 401, headers: answered.headers })
  }
}

/** The operator's pages on a port of their own, and so in another origin than the backend's documents. */
export function createOperatorPort(
  operator: OperatorHandler,
  health: () => Record<string, unknown>,
): (request: Request, peer?: Peer) => Response | Promise<Response> {
  return (request, peer = {}) => {
    const path = requestPath(request)
    const isAsSent = requestTarget(request).split('?')[0] === path
    const own = isAsSent ? operator(request, path, peer) : undefined
    if (own) return own
    // The commands of `paystile` send the operator's token only to a server that answers this.
    if (path === '/health' && request.method === 'GET') return apiReply(200, health())
    if (path === '/' && request.method === 'GET') return redirect('/admin')
    return apiReply(404, { error: 'There are only /setup and /admin here; buyers use the other port.' })
  }
}

export function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location, 'cache-control': 'no-store' } })
}
