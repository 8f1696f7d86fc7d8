import type { FastifyInstance } from 'fastify'
import { OF_ONE_BUYER } from '../protocol/caching-headers.ts'
import { addAtHead } from './add-at-head.ts'
import { accessAsker, checkAccess, type EmbeddedGateway, headOf } from './embedding.ts'
import { hookOf } from './fastify-hook.ts'

/** Brings `fastify.requireAccess`. */
export function decorateRequireAccess(fastify: FastifyInstance, gateway: EmbeddedGateway): void {
  fastify.decorateRequest('svcAccess')

  fastify.decorate('requireAccess', (required = {}) => {
    const askedOf = accessAsker(gateway, required)
    return hookOf(async (request, reply) => {
      const params = request.params as Record<string, unknown>
      const head = headOf(request.originalUrl, request.raw)
      const peer = { address: request.ip }
      const access = await checkAccess(gateway, head, askedOf(request), (name) => params[name], peer)
      if (access.kind === 'respond') return access.response
      request.svcAccess = access.claims
      addAtHead(reply.raw, () => ({ 'cache-control': OF_ONE_BUYER }))
      return undefined
    })
  })
}
