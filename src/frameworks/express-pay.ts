import { addAtHead } from './add-at-head.ts'
import { captureAnswer } from './capture-answer.ts'
import { type EmbeddedGateway, finisher, refuseUnknownRoute } from './embedding.ts'
import { fetchRequestOf, handlerOf } from './express-handler.ts'
import type { ExpressHandler } from './express-types.ts'
import { faultResponse } from './fault-response.ts'
import { giveUp } from './give-up.ts'
import { holdAnswer } from './hold-answer.ts'
import { isCharged, markCharged } from './is-charged.ts'
import { refuseUpgrade } from './refuse-upgrade.ts'
import { watchHead } from './watch-head.ts'
import { withheld } from './withheld.ts'

/**
 * Sells one call of a route: the handlers behind it run once the payment is settled, or its credits are set aside, and their
 * answer goes out as it is. On a metered route they run before: they may say what the call costs, and their answer goes out once
 * that is settled.
 *
 * @example
 * app.get('/weather/:city', payPerRequest(gateway, 'weather'), (req, res) => {
 *   res.json({ city: req.params.city, paidBy: req.svcPayment?.payer })
 * })
 * app.post('/chat', payPerRequest(gateway, 'chat'), (req, res) => {
 *   req.svcCharge?.('$0.0019')
 *   res.json({ text: 'hello' })
 * })
 */
export function payPerRequest(gateway: EmbeddedGateway, routeId: string): ExpressHandler {
  refuseUnknownRoute(gateway, routeId)
  return handlerOf(async (req, res) => {
    if (isCharged(req, gateway, routeId)) return undefined
    const refused = refuseUpgrade(req.headers)
    if (refused) return refused
    const request = fetchRequestOf(req)
    if (!request) {
      const message = 'the request target or a header is malformed'
      return faultResponse(400, 'INVALID_REQUEST', message, req.headers)
    }
    const charged = await gateway.chargeRoute(request, routeId, { address: req.ip })
    if (charged.kind === 'respond') return charged.response
    if (res.headersSent) {
      await giveUp(charged)
      return 'over'
    }
    markCharged(req, gateway, routeId)
    req.svcPayment = charged.payment
    if (charged.kind === 'metered') {
      req.svcCharge = charged.charge
      res.locals.charge = charged.charge
      captureAnswer(res, charged, res.getHeaders())
      return undefined
    }
    for (const [name, value] of Object.entries(charged.headers)) res.setHeader(name, value)
    const finish = finisher(charged)
    if (charged.payment.credits) {
      holdAnswer(res, { ...charged, finish, refusal: (error) => withheld(error, charged, req.headers) })
    } else {
      watchHead(res, finish, addAtHead(res, charged.headersFor))
    }
    return undefined
  })
}
