import type { FastifyInstance } from 'fastify'
import { checkAccess, type EmbeddedGateway, headOf } from './embedding.ts'
import { hookOf } from './fastify-hook.ts'

/** Brings `fastify.requireAccess`. */
export function decorateRequireAccess(fastify: FastifyInstance, gateway: EmbeddedGateway): void {
  fastify.decorateRequest('svcAccess')

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
}
