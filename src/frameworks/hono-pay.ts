import type { MiddlewareHandler } from 'hono'
import {
  type EmbeddedGateway,
  finisher,
  refuseUnknownRoute,
  type SvcCharge,
  type SvcPayment,
} from './embedding.ts'
import { type PeerOptions, peerOf } from './hono-context.ts'
import { answerMetered } from './hono-metered.ts'

/**
 * Sells one call of a route: the handlers behind it run once the payment is settled, and their answer goes out as it is. On a
 * metered route they run before: they may say what the call costs (`c.get('svcCharge')`), and their answer goes out once that is settled.
 *
 * @example
 * app.get('/weather/:city', payPerRequest(gateway, 'weather'), (c) =>
 *   c.json({ city: c.req.param('city'), paidBy: c.get('svcPayment').payer }),
 * )
 */
export function payPerRequest(
  gateway: EmbeddedGateway,
  routeId: string,
  options: PeerOptions = {},
): MiddlewareHandler<{ Variables: { svcPayment: SvcPayment; svcCharge?: SvcCharge } }> {
  refuseUnknownRoute(gateway, routeId)
  return async (c, next) => {
    const charged = await gateway.chargeRoute(c.req.raw, routeId, peerOf(c, options))
    if (charged.kind === 'respond') return charged.response
    c.set('svcPayment', charged.payment)
    if (charged.kind === 'metered') {
      c.set('svcCharge', charged.charge)
      return answerMetered(c, next, charged)
    }
    const finish = finisher(charged)
    try {
      await next()
    } catch (error) {
      // Errors are answered by the app before they get here; this one was thrown and is no Error.
      await finish(500)
      throw error
    }
    const { status } = c.res
    for (const [name, value] of Object.entries(charged.headers)) c.header(name, value)
    // In this order: an answer whose delivery cannot be recorded must not carry the receipt of one.
    await finish(status)
    for (const [name, value] of Object.entries(charged.headersFor(status))) c.header(name, value)
  }
}
