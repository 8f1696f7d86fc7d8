import { mountAdmin } from '../embedded-admin/mount-admin.ts'
import {
  type AdminGateway,
  type AdminOptions,
  type EmbeddedGateway,
  refuseNoGateway,
  type ShopGateway,
} from './embedding.ts'
import { answerBodyFaults } from './express-body-faults.ts'
import { fetchRequestOf, handlerOf } from './express-handler.ts'
import type { ExpressErrorHandler, ExpressHandler } from './express-types.ts'

/**
 * Serves the whole gateway below its baseUrl's path, and passes on what is not the gateway's. Two handlers for one
 * `app.use`: the second answers, on the gateway's paths alone, bodies that a parser in front has refused.
 *
 * @example
 * app.use(paystile(gateway))
 */
export function paystile(gateway: EmbeddedGateway): [ExpressHandler, ExpressErrorHandler] {
  refuseNoGateway('paystile', gateway, 'handle')
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
  refuseNoGateway('shopWindow', gateway, 'shopWindow')
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
  refuseNoGateway('paystileAdmin', gateway, 'backstage')
  const admin = mountAdmin(gateway, options)
  return handlerOf(async (req) => {
    const request = fetchRequestOf(req)
    return request && admin(request, req.baseUrl, { address: req.ip })
  })
}
