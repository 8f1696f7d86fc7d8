import type { MiddlewareHandler } from 'hono'
import { mountAdmin, mountIn } from '../embedded-admin/mount-admin.ts'
import {
  type AdminGateway,
  type AdminOptions,
  type EmbeddedGateway,
  refuseNoGateway,
  type ShopGateway,
} from './embedding.ts'
import { type PeerOptions, peerOf, wholeRequest } from './hono-context.ts'

/**
 * Serves the whole gateway below its baseUrl's path, and passes on what is not the gateway's.
 *
 * @example
 * app.use(paystile(gateway))
 */
export function paystile(gateway: EmbeddedGateway, options: PeerOptions = {}): MiddlewareHandler {
  refuseNoGateway('paystile', gateway, 'handle')
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
  refuseNoGateway('shopWindow', gateway, 'shopWindow')
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
  refuseNoGateway('paystileAdmin', gateway, 'backstage')
  const admin = mountAdmin(gateway, options, ['trustProxy'])
  return async (c, next) => {
    const { path: pattern } = c.req.matchedRoutes[c.req.routeIndex]!
    const request = await wholeRequest(c)
    const mount = mountIn(new URL(request.url).pathname, pattern)
    const response = await admin(request, mount, peerOf(c, options))
    if (response) return response
    await next()
  }
}
