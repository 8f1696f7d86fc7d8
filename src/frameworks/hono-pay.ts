import type { MiddlewareHandler } from 'hono'
import {
  type EmbeddedGateway,
  finisher,
  refuseUnknownRoute,
  type SvcCharge,
  type SvcPayment,
} from './embedding.ts'
import { giveUp } from './give-up.ts'
import { readyStatus, replaceByFailure } from './hono-answer.ts'
import { type PeerOptions, peerOf } from './hono-context.ts'
import { putHeaders } from './hono-headers.ts'
import { answerMetered } from './hono-metered.ts'
import { isCharged, markCharged } from './is-charged.ts'
import { refuseUpgrade } from './refuse-upgrade.ts'

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
    if (isCharged(c, gateway, routeId)) return next()
    const refused = refuseUpgrade(c.req.header())
    if (refused) return refused
    const charged = await gateway.chargeRoute(c.req.raw, routeId, peerOf(c, options))
    if (charged.kind === 'respond') return charged.response
    // Something in front has answered meanwhile, such as a time limit; Hono takes no second answer.
    if (c.finalized) return giveUp(charged)
    markCharged(c, gateway, routeId)
    c.set('svcPayment', charged.payment)
    if (charged.kind === 'metered') {
      c.set('svcCharge', charged.charge)
      return answerMetered(c, next, charged)
    }
    const finish = finisher(charged)
    let status: number | undefined
    try {
      await next()
      status = await readyStatus(c)
      // A time limit in front of us has answered, and its answer is out.
      if (status === undefined) return await finish(500)
      putHeaders(c, charged.headers)
    } catch (error) {
      // Errors of handlers are answered by the app before they get here: this is an answer that cannot go out, or no Error.
      try {
        replaceByFailure(c, {})
      } finally {
        await finish(500)
      }
      replaceByFailure(c, charged.headersFor(500))
      throw error
    }
    // In this order: an answer whose delivery cannot be recorded must not carry the receipt of one.
    const { res } = c
    try {
      await finish(status)
    } catch (error) {
      // Unless a time limit in front of us has answered meanwhile, the app's error handler does, and not with these headers.
      if (c.res === res) replaceByFailure(c, {})
      res.body?.cancel().catch(() => {})
      throw error
    }
    if (c.res !== res) return
    putHeaders(c, charged.headersFor(status))
  }
}
