import type { Context, MiddlewareHandler } from 'hono'
import { mountAdmin, mountIn } from '../embedded-admin/mount-admin.ts'
import {
  type AccessClaims,
  type AdminGateway,
  type AdminOptions,
  checkAccess,
  type EmbeddedGateway,
  finisher,
  type RequiredAccess,
  refuseUnknownRoute,
  type ShopGateway,
  type SvcCharge,
  type SvcPayment,
} from './embedding.ts'
import { type PeerOptions, paramOf, peerOf, wholeRequest } from './hono-context.ts'
import { answerMetered } from './hono-metered.ts'

export type {
  AccessClaims,
  AdminGateway,
  AdminOptions,
  EmbeddedGateway,
  PeerOptions,
  RequiredAccess,
  ShopGateway,
  SvcCharge,
  SvcPayment,
}

/**
 * Serves the whole gateway below its baseUrl's path, and passes on what is not the gateway's.
 *
 * @example
 * app.use(paystile(gateway))
 */
export function paystile(gateway: EmbeddedGateway, options: PeerOptions = {}): MiddlewareHandler {
  return async (c, next) => {
    const response = await gateway.handle(await wholeRequest(c), peerOf(c, options))
    if (response) return response
    await next()
  }
}

/**
 * Shows people what is sold and how to buy it.
 *
 * @example
 * app.get('/shop', shopWindow(gateway))
 */
export function shopWindow(gateway: ShopGateway): MiddlewareHandler {
  return async (c, next) => {
    const response = gateway.shopWindow(c.req.raw)
    if (response) return response
    await next()
  }
}

/**
 * Serves the operator's dashboard and its API below the path of your choice.
 *
 * @example
 * app.use('/office/*', paystileAdmin(gateway, { token: process.env.ADMIN_TOKEN }))
 */
export function paystileAdmin(gateway: AdminGateway, options: AdminOptions & PeerOptions): MiddlewareHandler {
  const admin = mountAdmin(gateway, options)
  return async (c, next) => {
    const { path: pattern } = c.req.matchedRoutes[c.req.routeIndex]!
    const request = await wholeRequest(c)
    const mount = mountIn(new URL(request.url).pathname, pattern)
    const response = await admin(request, mount, peerOf(c, options))
    if (response) return response
    await next()
  }
}

/**
 * Sells one call of a route: the handlers behind it run once the payment is settled, and their answer goes out as it is. On a
 * metered route they run before: they may say what the call costs (`c.get('svcCharge')`), and their answer goes out once that is settled.
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
): MiddlewareHandler<{ Variables: { svcPayment: SvcPayment; svcCharge?: SvcCharge } }> {
  refuseUnknownRoute(gateway, routeId)
  return async (c, next) => {
    const charged = await gateway.chargeRoute(c.req.raw, routeId, peerOf(c, options))
    if (charged.kind === 'respond') return charged.response
    c.set('svcPayment', charged.payment)
    if (charged.kind === 'metered') {
      c.set('svcCharge', charged.charge)
      return answerMetered(c, next, charged)
    }
    const finish = finisher(charged)
    try {
      await next()
    } catch (error) {
      // Errors are answered by the app before they get here; this one was thrown and is no Error.
      await finish(500)
      throw error
    }
    const { status } = c.res
    for (const [name, value] of Object.entries(charged.headers)) c.header(name, value)
    // In this order: an answer whose delivery cannot be recorded must not carry the receipt of one.
    await finish(status)
    for (const [name, value] of Object.entries(charged.headersFor(status))) c.header(name, value)
  }
}

/**
 * Lets only bearers of a token in that this gateway sold, or the wallet that bought it (sign-in-with-x): for the resource that the path's `resourceId` names, and for
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
  options: PeerOptions = {},
): MiddlewareHandler<{ Variables: { svcAccess: AccessClaims } }> {
  return async (c, next) => {
    const asked = typeof required === 'function' ? required(c) : required
    const access = await checkAccess(gateway, c.req.raw, asked, paramOf(c.req), peerOf(c, options))
    if (access.kind === 'respond') return access.response
    c.set('svcAccess', access.claims)
    await next()
  }
}
