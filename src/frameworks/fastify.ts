import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { mountAdmin, mountIn } from '../embedded-admin/mount-admin.ts'
import { addAtHead } from './add-at-head.ts'
import { captureAnswer } from './capture-answer.ts'
import {
  type AdminGateway,
  type AdminOptions,
  checkAccess,
  finisher,
  headOf,
  type Paid,
  refuseUnknownRoute,
  type ShopGateway,
} from './embedding.ts'
import { fetchRequestOf, hookOf, sendResponse } from './fastify-hook.ts'
import type { PaystileOptions, RouteHook } from './fastify-types.ts'
import { holdAnswer } from './hold-answer.ts'
import { undebited } from './undebited.ts'
import { watchHead } from './watch-head.ts'

export type {
  AccessClaims,
  AdminGateway,
  AdminOptions,
  EmbeddedGateway,
  RequiredAccess,
  ShopGateway,
  SvcCharge,
  SvcPayment,
} from './embedding.ts'
export type { PaystileOptions, RouteHook } from './fastify-types.ts'

const plugin: FastifyPluginAsync<PaystileOptions> = async (fastify, { gateway, prefix = '' }) => {
  /** Calls that are paid and not answered yet. */
  const open = new WeakMap<FastifyRequest, Paid['finish']>()
  fastify.decorateRequest('svcPayment')
  fastify.decorateRequest('svcCharge')
  fastify.decorateRequest('svcAccess')

  fastify.decorate('payPerRequest', (routeId: string) => {
    refuseUnknownRoute(gateway, routeId)
    return hookOf(async (request, reply) => {
      const charged = await gateway.chargeRoute(fetchRequestOf(request), routeId, { address: request.ip })
      if (charged.kind === 'respond') return charged.response
      request.svcPayment = charged.payment
      if (charged.kind === 'metered') {
        request.svcCharge = charged.charge
        captureAnswer(reply.raw, charged, reply.getHeaders())
        return undefined
      }
      const finish = finisher(charged)
      open.set(request, finish)
      // On the raw response: a handler that hijacks the reply never comes to onSend.
      if (charged.payment.credits) {
        const refusal = (error: unknown) => undebited(error, request.headers)
        holdAnswer(reply.raw, { ...charged, finish, refusal })
      } else {
        addAtHead(reply.raw, charged.headersFor)
        watchHead(reply.raw, finish)
      }
      return undefined
    })
  })

  // The head is decided and no byte of the body is out; whatever the payload is, it is left alone.
  fastify.addHook('onSend', async (request, reply, payload) => {
    const finish = open.get(request)
    open.delete(request)
    await finish?.(payload instanceof Response ? payload.status : reply.statusCode)
  })

  fastify.decorate('requireAccess', (required = {}) =>
    hookOf(async (request) => {
      const asked = typeof required === 'function' ? required(request) : required
      const params = request.params as Record<string, unknown>
      const head = headOf(request.originalUrl, request.raw)
      const peer = { address: request.ip }
      const access = await checkAccess(gateway, head, asked, (name) => params[name], peer)
      if (access.kind === 'respond') return access.response
      request.svcAccess = access.claims
      return undefined
    }),
  )

  // A context of its own: the gateway reads bodies itself, and the seller's routes keep their parsers.
  const serveGateway: FastifyPluginAsync = async (scope) => {
    readNoBodies(scope)
    scope.all('/*', async (request, reply) => {
      const response = await gateway.handle(fetchRequestOf(request), { address: request.ip })
      if (response) return sendResponse(reply, response)
      reply.callNotFound()
      return reply
    })
  }
  await fastify.register(serveGateway, { prefix })
}

/** The handlers of this context read bodies themselves. */
function readNoBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _body, done) => done(null))
}

/**
 * Serves the operator's dashboard and its API below the prefix of your choice.
 *
 * @example
 * await app.register(paystileAdmin(gateway, { token: process.env.ADMIN_TOKEN }), { prefix: '/office' })
 */
export function paystileAdmin(gateway: AdminGateway, options: AdminOptions): FastifyPluginAsync {
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
  return hookOf(async (request) => gateway.shopWindow(fetchRequestOf(request)))
}

/**
 * Serves the whole gateway and brings `fastify.payPerRequest` and `fastify.requireAccess`.
 *
 * @example
 * await app.register(paystile, { gateway })
 * app.get<{ Params: { city: string } }>(
 *   '/weather/:city',
 *   { preHandler: app.payPerRequest('weather') },
 *   async (request) => ({ city: request.params.city, paidBy: request.svcPayment?.payer }),
 * )
 */
export const paystile = fp(plugin, { name: 'paystile', fastify: '5.x' })
export default paystile
