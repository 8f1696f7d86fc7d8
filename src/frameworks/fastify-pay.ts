import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addAtHead } from './add-at-head.ts'
import { captureAnswer } from './capture-answer.ts'
import { type EmbeddedGateway, finisher, type Paid, refuseUnknownRoute } from './embedding.ts'
import { fetchRequestOf, hookOf } from './fastify-hook.ts'
import { holdAnswer } from './hold-answer.ts'
import { undebited } from './undebited.ts'
import { watchHead } from './watch-head.ts'

/** Brings `fastify.payPerRequest`. */
export function decoratePayPerRequest(fastify: FastifyInstance, gateway: EmbeddedGateway): void {
  /** Calls that are paid and not answered yet. */
  const open = new WeakMap<FastifyRequest, Paid['finish']>()
  fastify.decorateRequest('svcPayment')
  fastify.decorateRequest('svcCharge')

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
}
