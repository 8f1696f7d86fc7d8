import type { Spoken } from '../../dialects/mpp/spoken.ts'
import { SIGN_IN_WITH_X } from '../../dialects/siwx/read-proof.ts'
import { GatewayError } from '../../errors.ts'
import type { DiscoveryCatalog } from '../../protocol/catalog.ts'
import { receiptUrlOf } from '../../protocol/receipts.ts'
import { parseChallengeId } from '../../rules/challenge-id.ts'
import type { PaymentPage } from '../people/payment-page.ts'
import type { ShopWindow } from '../people/shop-window.ts'
import { acceptsPage } from '../people/wants-page.ts'
import { soldHere } from '../sold-here.ts'
import { WITHOUT_PAYMENT } from './admit.ts'
import type { OfferExtension } from './challenge-extensions.ts'
import { cheapestPlan } from './cheapest-plan.ts'
import type { Readiness } from './check-readiness.ts'
import { type DecodedAccess, decodeAccess } from './decode-access.ts'
import { decodePaymentHeaders, spokenOf } from './decode-call.ts'
import type { Credits, Endpoint, EndpointContext, Methods, Mount } from './endpoint.ts'
import { createResourceGuard, type GuardOptions } from './guard-resource.ts'
import { JSON_HEADERS, PREFLIGHT_HEADERS, ROUTE_PREFLIGHT_HEADERS, UNPAID_HEADERS } from './headers.ts'
import { headerOf } from './native-request.ts'
import { nothingAskedOf } from './nothing-asked.ts'
import { createPassOn } from './pass-on.ts'
import type { BodyLimits } from './read-body.ts'
import type { ReceiptPage } from './receipt-page.ts'
import { createPathRefusal } from './refused-path.ts'
import { createOutcomeRenderer, type Dialects } from './render-outcome.ts'
import { jsonReply, type Reply, toResponse } from './reply.ts'
import { basePathOf, belowBasePath, requestPath, requestTarget } from './request-target.ts'
import { createSafeguards, type Peer, publicFault, type SafeguardOptions } from './safeguards.ts'
import { createBalanceEndpoint } from './serve-balance.ts'
import { createFormerRoutes } from './serve-former-routes.ts'
import { PLAN_PAGES } from './serve-plans.ts'
import { createReadinessEndpoint } from './serve-readiness.ts'
import { createRouteServer, type RouteOptions } from './serve-routes.ts'
import { createAccessAgain, type SignIn } from './sign-in.ts'

export interface HttpHandlerOptions extends SafeguardOptions {
  engine: EndpointContext['engine']
  dialects: Dialects
  discovery: DiscoveryCatalog
  /** Extensions of the 402 that differ from offer to offer. */
  extensions?: readonly OfferExtension[]
  /**
   * The same for an empty request, which asks what is sold, not for what is owned: directories take a 402 that offers a
   * sign-in for one that cannot be paid.
   */
  probeExtensions?: readonly OfferExtension[]
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
  /** The page of a purchase, and the keys of signed receipts with the paths where they are published. */
  receipts?: { page: ReceiptPage; didDocument: object; didPaths: readonly string[] }
  limits: BodyLimits
  uptimeSeconds(): number
  ready(): Promise<Readiness>
  /** Direct calls of paid and free routes. Absent: the seller's own server answers them. */
  routes?: RouteOptions
  /** Fetching again what a wallet owns. Absent: every proof is ignored. */
  signIn?: SignIn
  /** Absent: no plan grants credits or once did. */
  credits?: Credits
  /** What is sold, for people: at the base path of a host of the gateway's own. Absent: switched off. */
  shopWindow?: ShopWindow
  /** Shows the 402 of a call to people. Absent: switched off. */
  paymentPage?: PaymentPage
  /** A2A, MCP and the documents, where they are switched on. */
  mounts?: readonly Mount[]
  /** The resource of plans, where the gateway itself checks tokens. */
  guarded?: Omit<GuardOptions, 'realm'>
}

export interface HttpHandler {
  /**
   * For a host that is shared. undefined: not a path of this gateway; /robots.txt and the icon are none either, since what
   * crawlers may do on a shared host, and what it looks like, is for its owner to say.
   */
  handle(request: Request, peer?: Peer): Promise<Response | undefined>
  /** For a host of the gateway's own: serves those as well, and answers 404 to what it does not know. */
  fetch(request: Request, peer?: Peer): Promise<Response>
}

const CHALLENGES = '/x402/challenges/'
const RECEIPTS = '/receipts/'

/** A host has one of each, at its root. */
const OF_THE_HOST: ReadonlySet<string> = new Set(['/robots.txt', '/favicon.ico', '/favicon.svg'])

/** The gateway over HTTP: decodes a request, asks the engine, renders its outcome. */
export function createHttpHandler(options: HttpHandlerOptions): HttpHandler {
  const { engine, dialects, limits, receipts } = options
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const basePath = basePathOf(baseUrl)
  const render = createOutcomeRenderer(dialects, baseUrl, {
    discovery: options.discovery,
    ...(options.extensions && { extensions: options.extensions }),
  })
  const probeRender = createOutcomeRenderer(dialects, baseUrl, {
    discovery: options.discovery,
    ...(options.probeExtensions && { extensions: options.probeExtensions }),
  })
  const safeguards = createSafeguards(options, render)
  const { admit, catchFaults, report } = safeguards
  const { signIn } = options
  const context: EndpointContext = {
    ...{ engine, dialects, limits, render, basePath, ...safeguards, passOn: createPassOn(options, render) },
    ...(signIn && { signIn }),
    ...(options.paymentPage && { paymentPage: options.paymentPage }),
    ...(options.credits && { credits: options.credits }),
  }
  const accessAgain = signIn && createAccessAgain(signIn, render, `${basePath}/x402/access`)
  const formerly = createFormerRoutes(context, options.discovery)
  const routesOf = options.routes && createRouteServer(context, options.routes)
  const refusePath = options.routes && createPathRefusal(options.routes.catalog, basePath)
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
  const probed = cheapestPlan(options.discovery.plans)
  const missing = `${nothingAskedOf(soldHere(options.discovery, options.routes !== undefined))} GET ${baseUrl}/discover lists what can be bought.`
  const nothingAsked = jsonReply(400, UNPAID_HEADERS, { error: missing })

  async function access(request: Request, peer: Peer): Promise<Reply | Response> {
    const has = (name: string): boolean => headerOf(request, name) !== null
    const a2a = peer.a2aOnAccess ? endpoints['/a2a']?.POST : undefined
    if (a2a && (has('x-a2a-extensions') || has('a2a-extensions'))) return a2a(request, peer)
    const { spoken, paying } = decodePaymentHeaders(dialects, request)
    // A message of A2A has its payment in the body: only when that is read is it clear whose request this is.
    const mayBeA2a = a2a !== undefined && !(paying instanceof GatewayError) && !paying.payment
    const admitted = mayBeA2a ? WITHOUT_PAYMENT : admit(peer, paying, { spoken })
    if ('status' in admitted) return admitted
    const decoded = await decodeAccess(request, limits, admitted.payment, probed)
    if (a2a && decoded.kind === 'json-rpc') return a2a(withBody(request, decoded.text), peer)
    const admittedLate = mayBeA2a ? admit(peer, WITHOUT_PAYMENT, { spoken }) : admitted
    if ('status' in admittedLate) return admittedLate
    const proof = headerOf(request, SIGN_IN_WITH_X)
    return (proof !== null && (await ownedAlready(decoded, proof))) || sell(decoded, peer, spoken)
  }

  /** The answer to a wallet that signs in and does not pay; undefined: it may buy. */
  async function ownedAlready(decoded: DecodedAccess, proof: string): Promise<Reply | undefined> {
    if (!accessAgain || decoded.kind !== 'intent' || decoded.intent.payment) return undefined
    const { intent } = decoded
    const found = await catchFaults(async () => ({ reply: await accessAgain(proof, intent) }))
    return 'reply' in found ? found.reply : found
  }

  function sell(decoded: DecodedAccess, peer: Peer, spoken: Spoken): Reply | Promise<Reply> {
    switch (decoded.kind) {
      case 'intent': {
        const { intent } = decoded
        intent.address = peer.address
        const offered = engine.offer(intent)
        if (offered) return (decoded.isProbe ? probeRender : render).outcome(offered, spoken)
        const { challengeId } = intent
        return catchFaults(async () => render.outcome(await engine.purchase(intent), spoken), {
          challengeId,
          spoken,
        })
      }
      case 'json-rpc':
      case 'nothing-asked':
        return spoken.paysByMpp
          ? render.failure(new GatewayError('INVALID_REQUEST', missing), { spoken })
          : nothingAsked
      case 'fault':
        return render.failure(decoded.error, { httpStatus: decoded.httpStatus, spoken })
    }
  }

  function challengeStatus(id: string): Endpoint {
    return (request, peer) => {
      const spoken = spokenOf(request)
      const admitted = admit(peer, WITHOUT_PAYMENT, { spoken })
      if ('status' in admitted) return admitted
      return catchFaults(
        async () => {
          const status = await engine.status(id)
          if (status) {
            // A metered call that cost nothing has a page, and no transaction.
            const hasPage = status.txHash !== undefined || status.state === 'DELIVERED'
            const shown = receipts && hasPage && { receiptUrl: receiptUrlOf(baseUrl, id) }
            return jsonReply(200, UNPAID_HEADERS, { ...status, ...shown })
          }
          const message = 'this gateway issued no challenge with that id'
          return render.failure(new GatewayError('CHALLENGE_NOT_FOUND', message), { spoken })
        },
        { spoken },
      )
    }
  }

  function receiptOf(id: string, { page }: NonNullable<typeof receipts>): Endpoint {
    return (request, peer) => {
      const admitted = admit(peer, WITHOUT_PAYMENT)
      return 'status' in admitted ? admitted : catchFaults(() => page(id, headerOf(request, 'accept')))
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
    '/ready': { GET: createReadinessEndpoint(() => options.ready(), report) },
  }
  function addDocument(path: string, document: object): void {
    const reply = published(document, 300)
    endpoints[path] = { GET: () => reply }
  }
  if (options.jwks) addDocument('/.well-known/jwks.json', options.jwks)
  for (const path of receipts?.didPaths ?? []) addDocument(path, receipts!.didDocument)
  if (context.credits) endpoints['/x402/credits'] = { GET: createBalanceEndpoint(context, context.credits) }
  for (const mount of options.mounts ?? []) Object.assign(endpoints, mount(context))
  const listed = [
    ...Object.entries(endpoints)
      .filter(([path]) => !path.startsWith(PLAN_PAGES))
      .map(([path, methods]) => `${Object.keys(methods)[0]} ${basePath}${path}`),
    `GET ${basePath}${CHALLENGES}:challengeId`,
    ...(receipts ? [`GET ${basePath}${RECEIPTS}:challengeId`] : []),
    ...(options.routes ? options.discovery.routes : []).map(
      ({ method, path }) => `${method} ${basePath}${path}`,
    ),
  ]

  function find(path: string | undefined): Methods | undefined {
    if (path === undefined) return undefined
    if (Object.hasOwn(endpoints, path)) return endpoints[path]
    const start = [CHALLENGES, RECEIPTS].find((prefix) => path.startsWith(prefix))
    const id = start === undefined ? '' : path.slice(start.length)
    if (id === '' || id.includes('/')) return undefined
    if (start === CHALLENGES) return { GET: challengeStatus(id) }
    return receipts && { GET: receiptOf(id, receipts) }
  }

  /** Routes are found by the target as it was sent: a parser would correct it into something else than was priced. */
  function findCall(request: Request): Methods | GatewayError | undefined {
    const target = belowBasePath(requestTarget(request), basePath)
    return target === undefined ? undefined : (guardOf?.(target) ?? routesOf?.(target))
  }

  async function reply(
    request: Request,
    peer: Peer,
    readsBody: boolean,
  ): Promise<Reply | Response | undefined> {
    const { method } = request
    const own = find(belowBasePath(requestPath(request), basePath))
    const methods = own ?? findCall(request)
    if (!methods) return formerly(request, peer, readsBody)
    if (methods instanceof GatewayError) return admit(peer, methods, { spoken: spokenOf(request) })
    if (method === 'OPTIONS') {
      return { status: 204, headers: own ? PREFLIGHT_HEADERS : ROUTE_PREFLIGHT_HEADERS, body: null }
    }
    const name = method === 'HEAD' ? 'GET' : method
    const endpoint = Object.hasOwn(methods, name) ? methods[name] : undefined
    if (!endpoint) return (await formerly(request, peer, readsBody)) ?? notAllowed(request, peer, methods)
    const found = await endpoint(request, peer)
    return method === 'HEAD' ? withoutBody(found) : found
  }

  function notFound(request: Request, peer: Peer): Reply {
    const target = belowBasePath(requestTarget(request), basePath)
    const refused = target && refusePath?.(request.method, target)
    if (refused) return admit(peer, refused, { spoken: spokenOf(request) })
    const message = `there is no endpoint ${request.method} ${requestPath(request).slice(0, 200)}`
    const embedded = !options.routes && options.discovery.routes.length > 0
    const hint = embedded
      ? "use one of endpoints; routes are answered by the seller's own server: call them there"
      : 'use one of endpoints'
    const error = new GatewayError('INVALID_REQUEST', message, { hint })
    return admit(peer, error, { httpStatus: 404, more: { endpoints: listed }, spoken: spokenOf(request) })
  }

  function notAllowed(request: Request, peer: Peer, methods: Methods): Reply {
    const allow = [
      ...Object.keys(methods).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])),
      'OPTIONS',
    ]
    const message = `${requestPath(request).slice(0, 200)} does not answer ${request.method}; it answers ${allow.join(', ')}`
    const error = new GatewayError('INVALID_REQUEST', message, { hint: `use ${allow[0]}` })
    const headers = { allow: allow.join(', ') }
    return admit(peer, error, { httpStatus: 405, headers, spoken: spokenOf(request) })
  }

  async function answer(request: Request, peer: Peer, readsBody: boolean): Promise<Response | undefined> {
    try {
      const found = await reply(request, peer, readsBody)
      return found === undefined || found instanceof Response ? found : toResponse(found, request)
    } catch (error) {
      report(error)
      return toResponse(render.failure(publicFault(error), { spoken: spokenOf(request) }), request)
    }
  }

  /** Asked last: a seller may sell the base path itself, and no other request should pay for the question. */
  function shopWindowAt(request: Request): Reply | undefined {
    if (!options.shopWindow || !acceptsPage(request)) return undefined
    return requestPath(request).replace(/\/$/, '') === basePath ? options.shopWindow(request) : undefined
  }

  /** On a shared host: {@link OF_THE_HOST}, and receipts that the seller's own pages may have under ids which are none of ours. */
  function isOfTheHost(request: Request): boolean {
    const path = requestTarget(request).split('?')[0]!
    if (OF_THE_HOST.has(path)) return true
    const own = belowBasePath(path, basePath)
    return own?.startsWith(RECEIPTS) === true && !parseChallengeId(own.slice(RECEIPTS.length))
  }

  return {
    handle: async (request, peer = {}) =>
      isOfTheHost(request) ? undefined : answer(request, peer, options.routes !== undefined),
    fetch: async (request, peer = {}) =>
      (await answer(request, peer, true)) ??
      toResponse(shopWindowAt(request) ?? notFound(request, peer), request),
  }
}

const withoutBody = (found: Reply | Response): Reply | Response =>
  found instanceof Response ? found : { ...found, body: null }

/** The same request for another reader: a body is read only once. */
function withBody({ url, headers }: Request, body: string): Request {
  return new Request(url, { method: 'POST', headers, body })
}
