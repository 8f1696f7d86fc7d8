import type { X402 } from '../../dialects/x402/create-x402.ts'
import { GatewayError } from '../../errors.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import { soldHere } from '../sold-here.ts'
import { WITHOUT_PAYMENT } from './admit.ts'
import type { Readiness } from './check-readiness.ts'
import { type DecodedAccess, decodeAccess } from './decode-access.ts'
import { decodePaymentHeader } from './decode-call.ts'
import type { Endpoint, EndpointContext, Methods, Mount } from './endpoint.ts'
import { createResourceGuard, type GuardOptions } from './guard-resource.ts'
import { JSON_HEADERS, PREFLIGHT_HEADERS, ROUTE_PREFLIGHT_HEADERS, UNPAID_HEADERS } from './headers.ts'
import { headerOf } from './native-request.ts'
import type { BodyLimits } from './read-body.ts'
import { createOutcomeRenderer } from './render-outcome.ts'
import { jsonReply, type Reply, toResponse } from './reply.ts'
import { basePathOf, belowBasePath, requestPath, requestTarget } from './request-target.ts'
import { createSafeguards, type Peer, publicFault, type SafeguardOptions } from './safeguards.ts'
import { createRouteServer, type RouteOptions } from './serve-routes.ts'

export interface HttpHandlerOptions extends SafeguardOptions {
  engine: EndpointContext['engine']
  x402: X402
  discovery: DiscoveryCatalog
  /** The catalog as it stands now: the same object until something changes. Absent: it never changes. */
  catalogNow?(): DiscoveryCatalog
  /** Where buyers reach this gateway; may have a path, which every endpoint then starts with. */
  baseUrl: string
  version: string
  /** CAIP-2; the first is preferred. */
  networkIds: readonly string[]
  storeName: string
  /** Absent with a shared secret: there is nothing to publish. */
  jwks?: object
  limits: BodyLimits
  uptimeSeconds(): number
  ready(): Promise<Readiness>
  /** Direct calls of paid and free routes. Absent: the seller's own server answers them. */
  routes?: RouteOptions
  /** A2A, MCP and the documents, where they are switched on. */
  mounts?: readonly Mount[]
  /** The resource of plans, where the gateway itself checks tokens. */
  guarded?: Omit<GuardOptions, 'realm'>
}

export interface HttpHandler {
  /**
   * For a host that is shared. undefined: not a path of this gateway; /robots.txt is none either, since what crawlers
   * may do on a shared host is for its owner to say.
   */
  handle(request: Request, peer?: Peer): Promise<Response | undefined>
  /** For a host of the gateway's own: serves /robots.txt as well, and answers 404 to what it does not know. */
  fetch(request: Request, peer?: Peer): Promise<Response>
}

const CHALLENGES = '/x402/challenges/'

/** The gateway over HTTP: decodes a request, asks the engine, renders its outcome. */
export function createHttpHandler(options: HttpHandlerOptions): HttpHandler {
  const { engine, x402, limits } = options
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const basePath = basePathOf(baseUrl)
  const render = createOutcomeRenderer(x402, baseUrl, { discovery: options.discovery })
  const safeguards = createSafeguards(options, render)
  const { admit, catchFaults, report } = safeguards
  const context: EndpointContext = { engine, x402, limits, render, basePath, ...safeguards }
  const routesOf = options.routes && createRouteServer(context, options.routes)
  const guardOf = options.guarded && createResourceGuard(context, { ...options.guarded, realm: baseUrl })

  const published = (value: object, maxAgeSeconds: number): Reply =>
    jsonReply(200, { ...JSON_HEADERS, 'cache-control': `public, max-age=${maxAgeSeconds}` }, value)
  const catalogNow = options.catalogNow ?? (() => options.discovery)
  let catalog = { of: options.discovery, reply: published(options.discovery, 60) }
  /** Serialised once, and again only when the catalog has changed. */
  function catalogReply(): Reply {
    const now = catalogNow()
    if (catalog.of !== now) catalog = { of: now, reply: published(now, 60) }
    return catalog.reply
  }
  const nothingAsked = jsonReply(400, UNPAID_HEADERS, {
    error: `${nothingAskedOf(soldHere(options.discovery, options.routes !== undefined))} GET ${baseUrl}/discover lists what can be bought.`,
  })

  async function access(request: Request, peer: Peer): Promise<Reply | Response> {
    const has = (name: string): boolean => headerOf(request, name) !== null
    const a2a = peer.a2aOnAccess ? endpoints['/a2a']?.POST : undefined
    if (a2a && (has('x-a2a-extensions') || has('a2a-extensions'))) return a2a(request, peer)
    const paying = decodePaymentHeader(x402, request)
    // A message of A2A has its payment in the body: only when that is read is it clear whose request this is.
    const mayBeA2a = a2a !== undefined && !(paying instanceof GatewayError) && !paying.payment
    const admitted = mayBeA2a ? WITHOUT_PAYMENT : admit(peer, paying)
    if ('status' in admitted) return admitted
    const decoded = await decodeAccess(request, limits, admitted.payment)
    if (a2a && decoded.kind === 'json-rpc') return a2a(withBody(request, decoded.text), peer)
    const admittedLate = mayBeA2a ? admit(peer, WITHOUT_PAYMENT) : admitted
    return 'status' in admittedLate ? admittedLate : sell(decoded, peer)
  }

  function sell(decoded: DecodedAccess, peer: Peer): Reply | Promise<Reply> {
    switch (decoded.kind) {
      case 'intent': {
        const { intent } = decoded
        intent.address = peer.address
        const offered = engine.offer(intent)
        if (offered) return render.outcome(offered)
        return catchFaults(async () => render.outcome(await engine.purchase(intent)), intent.challengeId)
      }
      case 'json-rpc':
      case 'nothing-asked':
        return nothingAsked
      case 'fault':
        return render.failure(decoded.error, { httpStatus: decoded.httpStatus })
    }
  }

  function challengeStatus(id: string): Endpoint {
    return (_request, peer) => {
      const admitted = admit(peer, WITHOUT_PAYMENT)
      if ('status' in admitted) return admitted
      return catchFaults(async () => {
        const status = await engine.status(id)
        if (status) return jsonReply(200, UNPAID_HEADERS, status)
        const message = 'this gateway issued no challenge with that id'
        return render.failure(new GatewayError('CHALLENGE_NOT_FOUND', message))
      })
    }
  }

  const endpoints: Record<string, Methods> = {
    '/discover': { GET: catalogReply },
    '/x402/access': { POST: access },
    '/health': {
      GET: () =>
        jsonReply(200, UNPAID_HEADERS, {
          status: 'ok',
          version: options.version,
          network: options.networkIds[0],
          ...(options.networkIds.length > 1 && { networks: options.networkIds }),
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
  for (const mount of options.mounts ?? []) Object.assign(endpoints, mount(context))
  const listed = [
    ...Object.entries(endpoints).map(([path, methods]) => `${Object.keys(methods)[0]} ${basePath}${path}`),
    `GET ${basePath}${CHALLENGES}:challengeId`,
    ...(options.routes ? options.discovery.routes : []).map(
      ({ method, path }) => `${method} ${basePath}${path}`,
    ),
  ]

  function find(path: string | undefined): Methods | undefined {
    if (path === undefined) return undefined
    if (Object.hasOwn(endpoints, path)) return endpoints[path]
    const id = path.startsWith(CHALLENGES) ? path.slice(CHALLENGES.length) : ''
    return id === '' || id.includes('/') ? undefined : { GET: challengeStatus(id) }
  }

  /** Routes are found by the target as it was sent: a parser would correct it into something else than was priced. */
  function findCall(request: Request): Methods | GatewayError | undefined {
    const target = belowBasePath(requestTarget(request), basePath)
    return target === undefined ? undefined : (guardOf?.(target) ?? routesOf?.(target))
  }

  async function reply(request: Request, peer: Peer): Promise<Reply | Response | undefined> {
    const { method } = request
    const pathname = requestPath(request)
    const own = find(belowBasePath(pathname, basePath))
    const methods = own ?? findCall(request)
    if (!methods) return undefined
    if (methods instanceof GatewayError) return render.failure(methods)
    if (method === 'OPTIONS') {
      return { status: 204, headers: own ? PREFLIGHT_HEADERS : ROUTE_PREFLIGHT_HEADERS, body: null }
    }
    const endpoint = methods[method === 'HEAD' ? 'GET' : method]
    if (!endpoint) return notAllowed(method, pathname, methods)
    const found = await endpoint(request, peer)
    return method === 'HEAD' ? withoutBody(found) : found
  }

  function notFound(method: string, pathname: string): Reply {
    const message = `there is no endpoint ${method} ${pathname.slice(0, 200)}`
    const embedded = !options.routes && options.discovery.routes.length > 0
    const hint = embedded
      ? "use one of endpoints; routes are answered by the seller's own server: call them there"
      : 'use one of endpoints'
    const error = new GatewayError('INVALID_REQUEST', message, { hint })
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
      const { ok, ...found } = await options.ready()
      if (ok) return jsonReply(200, UNPAID_HEADERS, { status: 'ready', ...found })
      return jsonReply(503, { ...UNPAID_HEADERS, 'retry-after': '5' }, { status: 'not-ready', ...found })
    } catch (error) {
      report(error)
      return jsonReply(503, { ...UNPAID_HEADERS, 'retry-after': '5' }, { status: 'not-ready', checks: {} })
    }
  }

  async function answer(request: Request, peer: Peer): Promise<Response | undefined> {
    try {
      const found = await reply(request, peer)
      return found === undefined || found instanceof Response ? found : toResponse(found, request)
    } catch (error) {
      report(error)
      return toResponse(render.failure(publicFault(error)), request)
    }
  }

  return {
    handle: async (request, peer = {}) =>
      requestTarget(request).split('?')[0] === '/robots.txt' ? undefined : answer(request, peer),
    fetch: async (request, peer = {}) =>
      (await answer(request, peer)) ?? toResponse(notFound(request.method, requestPath(request)), request),
  }
}

/** Whoever names nothing to buy is told what could be named here. */
function nothingAskedOf({ plans, routes }: DiscoveryCatalog): string {
  if (plans.length > 0) return `planId${routes.length > 0 ? ' (or routeId and resource)' : ''} is missing.`
  if (routes.length > 0) return 'routeId and resource are missing.'
  return "Nothing is sold at this address: call the seller's routes directly."
}

const withoutBody = (found: Reply | Response): Reply | Response =>
  found instanceof Response ? found : { ...found, body: null }

/** The same request for another reader: a body is read only once. */
function withBody({ url, headers }: Request, body: string): Request {
  return new Request(url, { method: 'POST', headers, body })
}
