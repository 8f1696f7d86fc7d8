import type { IncomingMessage } from 'node:http'
import type { Context, MiddlewareHandler } from 'hono'
import type { SvcPayment } from '../protocol/access.ts'
import {
  type AccessClaims,
  answerOwn,
  checkAccess,
  type EmbeddedGateway,
  finisher,
  type RequiredAccess,
  refuseUnknownRoute,
} from './embedding.ts'
import { remoteAddress } from './remote-address.ts'

export type { AccessClaims, EmbeddedGateway, RequiredAccess, SvcPayment }

export interface PeerOptions {
  /** Number of proxies in front whose `X-Forwarded-For` is believed; `true` is one. Default false. */
  trustProxy?: boolean | number
}

/**
 * Serves the whole gateway below its baseUrl's path, and passes on what is not the gateway's.
 *
 * @example
 * app.use(paystile(gateway))
 */
export function paystile(gateway: EmbeddedGateway, options: PeerOptions = {}): MiddlewareHandler {
  return async (c, next) => {
    const response = await answerOwn(gateway, await wholeRequest(c), peerOf(c, options))
    if (response) return response
    await next()
  }
}

/**
 * Sells one call of a route: the handlers behind it run once the payment is settled, and their answer goes out as it is.
 *
 * @example
 * app.get('/weather/:city', payPerRequest(gateway, 'weather'), (c) =>
 *   c.json({ city: c.req.param('city'), paidBy: c.get('svcPayment').payer }),
 * )
 */
export function payPerRequest(
  gateway: EmbeddedGateway,
  routeId: string,
  options: PeerOptions = {},
): MiddlewareHandler<{ Variables: { svcPayment: SvcPayment } }> {
  refuseUnknownRoute(gateway, routeId)
  return async (c, next) => {
    const charged = await gateway.chargeRoute(c.req.raw, routeId, peerOf(c, options))
    if (charged.kind === 'respond') return charged.response
    const finish = finisher(charged)
    c.set('svcPayment', charged.payment)
    try {
      await next()
    } catch (error) {
      // Errors are answered by the app before they get here; this one was thrown and is no Error.
      await finish(500)
      throw error
    }
    for (const [name, value] of Object.entries(charged.headersFor(c.res.status))) c.header(name, value)
    await finish(c.res.status)
  }
}

/**
 * Lets only bearers of a token in that this gateway sold: for the resource that the path's `resourceId` names, and for
 * this plan if one is named.
 *
 * @example
 * app.get('/resource/:resourceId', requireAccess(gateway), (c) =>
 *   c.json({ resource: c.req.param('resourceId'), wallet: c.get('svcAccess').walletAddress }),
 * )
 */
export function requireAccess(
  gateway: EmbeddedGateway,
  required: RequiredAccess | ((c: Context) => RequiredAccess) = {},
): MiddlewareHandler<{ Variables: { svcAccess: AccessClaims } }> {
  return async (c, next) => {
    const asked = typeof required === 'function' ? required(c) : required
    const access = await checkAccess(gateway, c.req.header('authorization'), asked, (name) =>
      paramOf(c.req, name),
    )
    if (access.kind === 'respond') return access.response
    c.set('svcAccess', access.claims)
    await next()
  }
}

/** Of this route or of one behind it: `app.use('/resource/*', …)` itself has no parameter. */
function paramOf(req: Context['req'], name: string): string | undefined {
  const own = req.routeIndex
  try {
    for (; req.routeIndex < req.matchedRoutes.length; req.routeIndex++) {
      const value = req.param(name)
      if (value !== undefined) return value
    }
    return undefined
  } finally {
    req.routeIndex = own
  }
}

/** Middleware before us may have read the body; Hono keeps what it read. */
async function wholeRequest({ req }: Context): Promise<Request> {
  const { url, method, headers } = req.raw
  // Whoever read the body of a GET left an empty one behind, which no Request may carry.
  if (Object.keys(req.bodyCache).length === 0 || method === 'GET' || method === 'HEAD') return req.raw
  return new Request(url, { method, headers, body: await req.arrayBuffer() })
}

/** On node the connection is in the environment; elsewhere nobody knows, and nobody is limited. */
function peerOf(c: Context, { trustProxy = false }: PeerOptions): { address?: string } {
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  const address = incoming && remoteAddress(incoming, trustProxy)
  return address === undefined ? {} : { address }
}
