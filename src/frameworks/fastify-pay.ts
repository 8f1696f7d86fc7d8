import type { FastifyInstance, FastifyRequest } from 'fastify'
import { captureAnswer } from './capture-answer.ts'
import { type EmbeddedGateway, finisher, type Paid, refuseUnknownRoute } from './embedding.ts'
import { fetchRequestOf, hookOf } from './fastify-hook.ts'
import { giveUp } from './give-up.ts'
import { holdAnswer } from './hold-answer.ts'
import { isCharged, markCharged } from './is-charged.ts'
import { refuseUpgrade } from './refuse-upgrade.ts'
import { watchHead } from './watch-head.ts'
import { isClosed } from './watch-pipe.ts'
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
      const refused = refuseUpgrade(request.headers)
      if (refused) return refused
      const charged = await gateway.chargeRoute(fetchRequestOf(request), routeId, { address: request.ip })
      if (charged.kind === 'respond') return charged.response
      if (reply.sent || reply.raw.headersSent) {
        // Fastify runs no handler for a reply that is not its own any more.
        if (!reply.sent) reply.hijack()
        await giveUp(charged)
        return undefined
      }
      markCharged(request, gateway, routeId)
      request.svcPayment = charged.payment
      if (charged.kind === 'metered') {
        request.svcCharge = charged.charge
        captureAnswer(reply.raw, charged, reply.getHeaders())
        return undefined
      }
      const tell = finisher(charged)
      let stopLooking = () => {}
      const finish = async (status: number) => {
        await tell(status)
        stopLooking()
      }
      finishers.set(request, finish)
      // On the raw response: after `onSend` a stream may still fail, or a later hook change the status.
      const refusal = (error: unknown) => withheld(error, charged, request.headers)
      holdAnswer(reply.raw, { ...charged, finish, refusal })
      // An answer that was withheld ends the lease of its payment, so that this can be sent again.
      if (!charged.payment.credits) stopLooking = watchHead(reply.raw, finish)
      return undefined
    })
  })

  // The seller has answered, and a client that leaves before the head is written is not refunded.
  fastify.addHook('onSend', async (request, reply, payload) => {
    const finish = finishers.get(request)
    const status = payload instanceof Response ? payload.status : reply.statusCode
    if (!finish) return
    const tell = () => {
      if (!reply.raw.headersSent) finish(status).catch(() => {})
    }
    if (isClosed(reply.raw)) tell()
    else reply.raw.once('close', tell)
  })
}
