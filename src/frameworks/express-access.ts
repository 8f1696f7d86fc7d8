import type { Request as ExpressRequest } from 'express'
import { OF_ONE_BUYER } from '../protocol/caching-headers.ts'
import { addAtHead } from './add-at-head.ts'
import { accessAsker, checkAccess, type EmbeddedGateway, headOf, type RequiredAccess } from './embedding.ts'
import { handlerOf } from './express-handler.ts'
import type { ExpressHandler } from './express-types.ts'

/**
 * Lets only bearers of a token in that this gateway sold, or the wallet that bought it (sign-in-with-x): for the resource that the path's `resourceId` names, and for
 * this plan if one is named. What is answered goes out as an answer of one buyer, which no cache keeps.
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
  const askedOf = accessAsker(gateway, required)
  return handlerOf(async (req, res) => {
    const head = headOf(req.originalUrl, req)
    const access = await checkAccess(gateway, head, askedOf(req), (name) => req.params[name], {
      address: req.ip,
    })
    if (access.kind === 'respond') return access.response
    req.svcAccess = access.claims
    addAtHead(res, () => ({ 'cache-control': OF_ONE_BUYER }))
    return undefined
  })
}
