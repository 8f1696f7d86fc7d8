import type { Engine } from '../../engine/outcome.ts'
import { GatewayError, UnavailableError } from '../../errors.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import { decodeAccess } from './decode-access.ts'
import { JSON_HEADERS, PREFLIGHT_HEADERS, UNPAID_HEADERS } from './headers.ts'
import type { BodyLimits } from './read-body.ts'
import { createOutcomeRenderer } from './render-outcome.ts'
import { jsonReply, type Reply, toResponse } from './reply.ts'

export interface HttpHandlerOptions {
  engine: Pick<Engine, 'purchase' | 'status'>
  discovery: DiscoveryCatalog
  /** Where buyers reach this gateway; may have a path, which every endpoint then starts with. */
  baseUrl: string
  version: string
  /** CAIP-2. */
  networkId: string
  storeName: string
  /** Absent with a shared secret: there is nothing to publish. */
  jwks?: object
  limits: BodyLimits
  uptimeSeconds(): number
  ready(): Promise<{ ok: boolean; checks: Record<string, string> }>
  /** Asked for requests that bring no payment. */
  rateLimit?(address: string): { ok: true } | { ok: false; retryAfterSeconds: number }
  /** Told of faults that the buyer only sees as 500 or 503. */
  onError?(error: unknown): void
}

export interface Peer {
  address?: string | undefined
}

export type HttpHandler = (request: Request, peer?: Peer) => Promise<Response>

type Endpoint = (request: Request, peer: Peer) => Reply | Promise<Reply>
type Methods = Record<string, Endpoint>

const CHALLENGES = '/x402/challenges/'

/** The gateway over HTTP: decodes a request, asks the engine, renders its outcome. */
export function createHttpHandler(options: HttpHandlerOptions): HttpHandler {
  const { engine, limits } = options
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const basePath = new URL(baseUrl).pathname.replace(/\/+$/, '')
  const render = createOutcomeRenderer(baseUrl)

  const published = (value: object, maxAgeSeconds: number): Reply =>
    jsonReply(200, { ...JSON_HEADERS, 'cache-control': `public, max-age=${maxAgeSeconds}` }, value)
  const catalog = published(options.discovery, 60)
  const nothingAsked = jsonReply(400, UNPAID_HEADERS, {
    error: `planId (or routeId and resource) is missing. GET ${baseUrl}/discover lists what can be bought.`,
  })

  async function access(request: Request, peer: Peer): Promise<Reply> {
    const paying = request.headers.has('payment-signature')
    const limited = paying ? undefined : limit(peer)
    if (limited) return limited
    const decoded = await decodeAccess(request, limits)
    switch (decoded.kind) {
      case 'intent':
        return guard(
          async () => render.outcome(await engine.purchase(decoded.intent)),
          decoded.intent.challengeId,
        )
      case 'nothing-asked':
        return nothingAsked
      case 'fault':
        // A header that is no payment must not be a way around the limit.
        return (paying && limit(peer)) || render.failure(decoded.error, { httpStatus: decoded.httpStatus })
    }
  }

  function challengeStatus(id: string): Endpoint {
    return (_request, peer) =>
      limit(peer) ??
      guard(async () => {
        const status = await engine.status(id)
        if (status) return jsonReply(200, UNPAID_HEADERS, status)
        const message = 'this gateway issued no challenge with that id'
        return render.failure(new GatewayError('CHALLENGE_NOT_FOUND', message))
      })
  }

  const endpoints: Record<string, Methods> = {
    '/discover': { GET: () => catalog },
    '/x402/access': { POST: access },
    '/health': {
      GET: () =>
        jsonReply(200, UNPAID_HEADERS, {
          status: 'ok',
          version: options.version,
          network: options.networkId,
          store: options.storeName,
          uptimeSeconds: options.uptimeSeconds(),
        }),
    },
    '/ready': { GET: readiness },
  }
  if (options.jwks) {
    const keys = published(options.jwks, 300)
    endpoints['/.well-known/jwks.json'] = { GET: () => keys }
  }
  const listed = [
    ...Object.entries(endpoints).map(([path, methods]) => `${Object.keys(methods)[0]} ${basePath}${path}`),
    `GET ${basePath}${CHALLENGES}:challengeId`,
  ]

  function find(path: string | undefined): Methods | undefined {
    if (path === undefined) return undefined
    if (Object.hasOwn(endpoints, path)) return endpoints[path]
    const id = path.startsWith(CHALLENGES) ? path.slice(CHALLENGES.length) : ''
    return id === '' || id.includes('/') ? undefined : { GET: challengeStatus(id) }
  }

  async function reply(request: Request, peer: Peer): Promise<Reply> {
    const { pathname } = new URL(request.url)
    const methods = find(pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : undefined)
    const { method } = request
    if (method === 'OPTIONS') return { status: 204, headers: PREFLIGHT_HEADERS, body: null }
    if (!methods) return notFound(method, pathname)
    const endpoint = methods[method === 'HEAD' ? 'GET' : method]
    if (!endpoint) return notAllowed(method, pathname, methods)
    const found = await endpoint(request, peer)
    return method === 'HEAD' ? { ...found, body: null } : found
  }

  function notFound(method: string, pathname: string): Reply {
    const message = `there is no endpoint ${method} ${pathname.slice(0, 200)}`
    const error = new GatewayError('INVALID_REQUEST', message, { hint: 'use one of endpoints' })
    return render.failure(error, { httpStatus: 404, more: { endpoints: listed } })
  }

  function notAllowed(method: string, pathname: string, methods: Methods): Reply {
    const allow = [
      ...Object.keys(methods).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])),
      'OPTIONS',
    ]
    const message = `${pathname.slice(0, 200)} does not answer ${method}; it answers ${allow.join(', ')}`
    const error = new GatewayError('INVALID_REQUEST', message, { hint: `use ${allow[0]}` })
    return render.failure(error, { httpStatus: 405, headers: { allow: allow.join(', ') } })
  }

  async function readiness(): Promise<Reply> {
    try {
      const { ok, checks } = await options.ready()
      if (ok) return jsonReply(200, UNPAID_HEADERS, { status: 'ready', checks })
      return jsonReply(503, { ...UNPAID_HEADERS, 'retry-after': '5' }, { status: 'not-ready', checks })
    } catch (error) {
      report(error)
      return jsonReply(503, { ...UNPAID_HEADERS, 'retry-after': '5' }, { status: 'not-ready', checks: {} })
    }
  }

  function limit(peer: Peer): Reply | undefined {
    if (!options.rateLimit || peer.address === undefined) return undefined
    const verdict = options.rateLimit(peer.address)
    if (verdict.ok) return undefined
    const { retryAfterSeconds } = verdict
    const message = `too many requests without a payment from this address; wait ${retryAfterSeconds} s`
    return render.failure(new GatewayError('RATE_LIMITED', message, { retryAfterSeconds }))
  }

  /** An engine that throws has decided nothing that we know of: the same request again is always safe, a new payment is not. */
  async function guard(ask: () => Promise<Reply>, challengeId?: string): Promise<Reply> {
    try {
      return await ask()
    } catch (error) {
      if (error instanceof GatewayError) return render.failure(error)
      report(error)
      return render.failure(concealed(error, challengeId))
    }
  }

  function report(error: unknown): void {
    try {
      options.onError?.(error)
    } catch {
      // A broken log must not take the answer with it.
    }
  }

  return async (request, peer = {}) => {
    try {
      return toResponse(await reply(request, peer), request)
    } catch (error) {
      report(error)
      return toResponse(render.failure(concealed(error)), request)
    }
  }
}

/** What the buyer may know of an unexpected fault. */
function concealed(error: unknown, challengeId?: string): GatewayError {
  const details = challengeId === undefined ? {} : { challengeId }
  if (error instanceof UnavailableError) {
    const message =
      'the store or the chain is unavailable and nothing was decided; send the same request again, with the same payment if it has one'
    return new GatewayError('SETTLEMENT_PENDING', message, details)
  }
  const message =
    'the gateway met an unexpected fault; send the same request again, with the same payment if it has one'
  return new GatewayError('INTERNAL_ERROR', message, details)
}
