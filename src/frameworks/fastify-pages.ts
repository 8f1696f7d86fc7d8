import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { mountAdmin, mountIn } from '../embedded-admin/mount-admin.ts'
import {
  type AdminGateway,
  type AdminOptions,
  type EmbeddedGateway,
  refuseNoGateway,
  type ShopGateway,
} from './embedding.ts'
import { fetchRequestOf, hookOf, sendResponse } from './fastify-hook.ts'
import type { RouteHook } from './fastify-types.ts'

/** The handlers of this context read bodies themselves. */
function readNoBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _body, done) => done(null))
}

/** A context of its own: the gateway reads bodies itself, and the seller's routes keep their parsers. */
export const serveGateway =
  (gateway: EmbeddedGateway): FastifyPluginAsync =>
  async (scope) => {
    readNoBodies(scope)
    scope.all('/*', async (request, reply) => {
      const response = await gateway.handle(fetchRequestOf(request), { address: request.ip })
      if (response) return sendResponse(reply, response)
      reply.callNotFound()
      return reply
    })
  }

/**
 * Serves the operator's dashboard and its API below the prefix of your choice.
 *
 * @example
 * await app.register(paystileAdmin(gateway, { token: process.env.ADMIN_TOKEN }), { prefix: '/office' })
 */
export function paystileAdmin(gateway: AdminGateway, options: AdminOptions): FastifyPluginAsync {
  refuseNoGateway('paystileAdmin', gateway, 'backstage')
  const admin = mountAdmin(gateway, options)
  return async (scope) => {
    readNoBodies(scope)
    const answer = async (request: FastifyRequest, reply: FastifyReply) => {
      const mount = mountIn(request.originalUrl.split('?')[0]!, scope.prefix)
      const response = await admin(fetchRequestOf(request), mount, { address: request.ip })
      if (response) return sendResponse(reply, response)
      reply.callNotFound()
      return reply
    }
    scope.all('/', answer)
    scope.all('/*', answer)
  }
}

/**
 * Shows people what is sold and how to buy it; for a route's `onRequest`.
 *
 * @example
 * app.get('/shop', { onRequest: shopWindow(gateway) }, (_request, reply) => reply.callNotFound())
 */
export function shopWindow(gateway: ShopGateway): RouteHook {
  refuseNoGateway('shopWindow', gateway, 'shopWindow')
  return hookOf(async (request) => gateway.shopWindow(fetchRequestOf(request)))
}
