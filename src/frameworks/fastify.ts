import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { SvcPayment } from '../protocol/access.ts'
import { plainReplyOf } from '../transports/http/reply.ts'
import {
  type AccessClaims,
  answerOwn,
  checkAccess,
  type EmbeddedGateway,
  type Finish,
  finisher,
  ORIGIN,
  type RequiredAccess,
  refuseUnknownRoute,
} from './embedding.ts'
import { toRequest } from './light-request.ts'
import { watchHead } from './watch-head.ts'

export type { AccessClaims, EmbeddedGateway, RequiredAccess, SvcPayment }

type Paid = Extract<Awaited<ReturnType<EmbeddedGateway['chargeRoute']>>, { kind: 'paid' }>

/**
 * For a route's `preHandler` (after its schema was checked) or `onRequest`. It says nothing of servers, parameters and
 * bodies, so that it fits every route, and the route keeps its own types.
 */
export type RouteHook = (request: object, reply: object) => Promise<unknown>

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `payPerRequest`. */
    svcPayment?: SvcPayment
    /** Set by `requireAccess`. */
    svcAccess?: AccessClaims
  }
  interface FastifyInstance {
    /** Sells one call of a route: its handler runs once the payment is settled, and its answer goes out as it is. */
    payPerRequest(routeId: string): RouteHook
    /**
     * Lets only bearers of a token in that this gateway sold: for the resource that the path's `resourceId` names, and
     * for this plan if one is named.
     */
    requireAccess(required?: RequiredAccess | ((request: FastifyRequest) => RequiredAccess)): RouteHook
  }
}

export interface PaystileOptions {
  gateway: EmbeddedGateway
  /** Where the gateway is served: the path of its baseUrl. Default: the root. */
  prefix?: string
}

const plugin: FastifyPluginAsync<PaystileOptions> = async (fastify, { gateway, prefix = '' }) => {
  /** Calls that are paid and not answered yet. */
  const open = new WeakMap<FastifyRequest, { headersFor: Paid['headersFor']; finish: Finish }>()
  fastify.decorateRequest('svcPayment')
  fastify.decorateRequest('svcAccess')

  fastify.decorate('payPerRequest', (routeId: string): RouteHook => {
    refuseUnknownRoute(gateway, routeId)
    return hook(async (request, reply) => {
      const charged = await gateway.chargeRoute(fetchRequestOf(request), routeId, { address: request.ip })
      if (charged.kind === 'respond') return sendResponse(reply, charged.response)
      request.svcPayment = charged.payment
      const finish = finisher(charged)
      open.set(request, { headersFor: charged.headersFor, finish })
      // A handler that hijacks the reply never comes to onSend.
      watchHead(reply.raw, finish)
      return undefined
    })
  })

  // The head is decided and no byte of the body is out; whatever the payload is, it is left alone.
  fastify.addHook('onSend', async (request, reply, payload) => {
    const call = open.get(request)
    if (!call) return
    open.delete(request)
    const status = payload instanceof Response ? payload.status : reply.statusCode
    reply.headers(call.headersFor(status))
    await call.finish(status)
  })

  fastify.decorate(
    'requireAccess',
    (required: RequiredAccess | ((request: FastifyRequest) => RequiredAccess) = {}): RouteHook =>
      hook(async (request, reply) => {
        const asked = typeof required === 'function' ? required(request) : required
        const params = request.params as Record<string, unknown>
        const { authorization } = request.headers
        const access = await checkAccess(gateway, authorization, asked, (name) => params[name])
        if (access.kind === 'respond') return sendResponse(reply, access.response)
        request.svcAccess = access.claims
        return undefined
      }),
  )

  // A context of its own: the gateway reads bodies itself, and the seller's routes keep their parsers.
  await fastify.register(
    async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _body, done) => done(null))
      scope.all('/*', async (request, reply) => {
        const response = await answerOwn(gateway, fetchRequestOf(request), { address: request.ip })
        if (response) return sendResponse(reply, response)
        reply.callNotFound()
        return reply
      })
    },
    { prefix },
  )
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

/** Fastify calls it with its own request and reply. */
function hook(
  handle: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>,
): RouteHook {
  return handle as RouteHook
}

function fetchRequestOf(request: FastifyRequest): Request {
  return toRequest(request.raw, ORIGIN, { target: request.originalUrl, parsedBody: request.body })
}

function sendResponse(reply: FastifyReply, response: Response): FastifyReply {
  const plain = plainReplyOf(response)
  if (!plain) return reply.send(response)
  const { status, headers, body } = plain
  // As bytes: of a string Fastify would think that it may still choose a type and a charset.
  return reply
    .code(status)
    .headers(headers)
    .send(body === null ? undefined : Buffer.from(body))
}
