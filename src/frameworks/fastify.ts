import type { FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import { refuseNoGateway } from './embedding.ts'
import { decorateRequireAccess } from './fastify-access.ts'
import { serveGateway } from './fastify-pages.ts'
import { decoratePayPerRequest } from './fastify-pay.ts'
import type { PaystileOptions } from './fastify-types.ts'

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
export { paystileAdmin, shopWindow } from './fastify-pages.ts'
export type { PaystileOptions, RouteHook } from './fastify-types.ts'

const plugin: FastifyPluginAsync<PaystileOptions> = async (fastify, { gateway, prefix = '' }) => {
  refuseNoGateway('paystile', gateway, 'handle')
  decoratePayPerRequest(fastify, gateway)
  decorateRequireAccess(fastify, gateway)
  await fastify.register(serveGateway(gateway), { prefix })
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
