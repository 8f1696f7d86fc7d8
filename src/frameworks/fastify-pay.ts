import type { FastifyInstance, FastifyRequest } from 'fastify'
import { captureAnswer } from './capture-answer.ts'
import { type EmbeddedGateway, finisher, type Paid, refuseUnknownRoute } from './embedding.ts'
import { fetchRequestOf, hookOf } from './fastify-hook.ts'
import { holdAnswer } from './hold-answer.ts'
import { isCharged, markCharged } from './is-charged.ts'
import { watchHead } from './watch-head.ts'
import { withheld } from './withheld.ts'

/** Brings `fastify.payPerRequest`. */
export function decoratePayPerRequest(fastify: FastifyInstance, gateway: EmbeddedGateway): void {
  const finishers = new WeakMap<FastifyRequest, Paid['finish']>()
  fastify.decorateRequest('svcPayment')
  fastify.decorateRequest('svcCharge')

  fastify.decorate('payPerRequest', (routeId: string) => {
    refuseUnknownRoute(gateway, routeId)
    return hookOf(async (request, reply) => {
      if (isCharged(request, gateway, routeId)) return undefined
      const charged = await gateway.chargeRoute(fetchRequestOf(request), routeId, { address: request.ip })
      if (charged.kind === 'respond') return charged.response
      markCharged(request, gateway, routeId)
      request.svcPayment = charged.payment
      if (charged.kind === 'metered') {
        request.svcCharge = charged.charge
        captureAnswer(reply.raw, charged, reply.getHeaders())
        return undefined
      }
      const finish = finisher(charged)
      finishers.set(request, finish)
      // On the raw response: after `onSend` a stream may still fail, or a later hook change the status.
      const refusal = (error: unknown) => withheld(error, charged, request.headers)
      holdAnswer(reply.raw, { ...charged, finish, refusal })
      // An answer that was withheld ends the lease of its payment, so that this can be sent again.
      if (!charged.payment.credits) watchHead(reply.raw, finish)
      return undefined
    })
  })

  // The seller has answered, and a client that leaves before the head is written is not refunded.
  fastify.addHook('onSend', async (request, reply, payload) => {
    const finish = finishers.get(request)
    const status = payload instanceof Response ? payload.status : reply.statusCode
    if (!finish) return
    reply.raw.once('close', () => {
      if (!reply.raw.headersSent) finish(status).catch(() => {})
    })
  })
}
