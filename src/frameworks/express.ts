import type { Request as ExpressRequest } from 'express'
import { mountAdmin } from '../embedded-admin/mount-admin.ts'
import { addAtHead } from './add-at-head.ts'
import { captureAnswer } from './capture-answer.ts'
import {
  type AccessClaims,
  type AdminGateway,
  type AdminOptions,
  checkAccess,
  type EmbeddedGateway,
  finisher,
  headOf,
  type RequiredAccess,
  refuseUnknownRoute,
  type ShopGateway,
  type SvcCharge,
  type SvcPayment,
} from './embedding.ts'
import { answerBodyFaults } from './express-body-faults.ts'
import { fetchRequestOf, handlerOf } from './express-handler.ts'
import type { ExpressErrorHandler, ExpressHandler } from './express-types.ts'
import { faultResponse } from './fault-response.ts'
import { holdAnswer } from './hold-answer.ts'
import { undebited } from './undebited.ts'
import { watchHead } from './watch-head.ts'

export type {
  AccessClaims,
  AdminGateway,
  AdminOptions,
  EmbeddedGateway,
  ExpressErrorHandler,
  ExpressHandler,
  RequiredAccess,
  ShopGateway,
  SvcCharge,
  SvcPayment,
}

/**
 * Serves the whole gateway below its baseUrl's path, and passes on what is not the gateway's. Two handlers for one
 * `app.use`: the second answers, on the gateway's paths alone, bodies that a parser in front has refused.
 *
 * @example
 * app.use(paystile(gateway))
 */
export function paystile(gateway: EmbeddedGateway): [ExpressHandler, ExpressErrorHandler] {
  const serve = handlerOf(async (req) => {
    const request = fetchRequestOf(req)
    return request && gateway.handle(request, { address: req.ip, a2aOnAccess: true })
  })
  return [serve, answerBodyFaults(gateway)]
}

/**
 * Shows people what is sold and how to buy it.
 *
 * @example
 * app.get('/shop', shopWindow(gateway))
 */
export function shopWindow(gateway: ShopGateway): ExpressHandler {
  return handlerOf(async (req) => {
    const request = fetchRequestOf(req)
    return request && gateway.shopWindow(request)
  })
}

/**
 * Serves the operator's dashboard and its API below the path of your choice.
 *
 * @example
 * app.use('/office', paystileAdmin(gateway, { token: process.env.ADMIN_TOKEN }))
 */
export function paystileAdmin(gateway: AdminGateway, options: AdminOptions): ExpressHandler {
  const admin = mountAdmin(gateway, options)
  return handlerOf(async (req) => {
    const request = fetchRequestOf(req)
    return request && admin(request, req.baseUrl, { address: req.ip })
  })
}

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
    const request = fetchRequestOf(req)
    if (!request) {
      const message = 'the request target or a header is malformed'
      return faultResponse(400, 'INVALID_REQUEST', message, req.headers)
    }
    const charged = await gateway.chargeRoute(request, routeId, { address: req.ip })
    if (charged.kind === 'respond') return charged.response
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
      holdAnswer(res, { ...charged, finish, refusal: (error) => undebited(error, req.headers) })
    } else {
      addAtHead(res, charged.headersFor)
      watchHead(res, finish)
    }
    return undefined
  })
}

/**
 * Lets only bearers of a token in that this gateway sold, or the wallet that bought it (sign-in-with-x): for the resource that the path's `resourceId` names, and for
 * this plan if one is named.
 *
 * @example
 * app.get('/resource/:resourceId', requireAccess(gateway), (req, res) => {
 *   res.json({ resource: req.params.resourceId, wallet: req.svcAccess?.walletAddress })
 * })
 */
export function requireAccess(
  gateway: EmbeddedGateway,
  required: RequiredAccess | ((req: ExpressRequest) => RequiredAccess) = {},
): ExpressHandler {
  return handlerOf(async (req) => {
    const asked = typeof required === 'function' ? required(req) : required
    const head = headOf(req.originalUrl, req)
    const access = await checkAccess(gateway, head, asked, (name) => req.params[name], { address: req.ip })
    if (access.kind === 'respond') return access.response
    req.svcAccess = access.claims
    return undefined
  })
}
