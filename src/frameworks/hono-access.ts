import type { Context, MiddlewareHandler } from 'hono'
import {
  type AccessClaims,
  accessAsker,
  checkAccess,
  type EmbeddedGateway,
  type RequiredAccess,
} from './embedding.ts'
import { type PeerOptions, paramOf, peerOf } from './hono-context.ts'
import { keepFromCaches } from './hono-headers.ts'

/**
 * Lets only bearers of a token in that this gateway sold, or the wallet that bought it (sign-in-with-x): for the resource that the path's `resourceId` names, and for
 * this plan if one is named. What is answered goes out as an answer of one buyer, which no cache keeps.
 *
 * @example
 * app.get('/resource/:resourceId', requireAccess(gateway), (c) =>
 *   c.json({ resource: c.req.param('resourceId'), wallet: c.get('svcAccess').walletAddress }),
 * )
 */
export function requireAccess(
  gateway: EmbeddedGateway,
  required: RequiredAccess | ((c: Context) => RequiredAccess) = {},
  options: PeerOptions = {},
): MiddlewareHandler<{ Variables: { svcAccess: AccessClaims } }> {
  const askedOf = accessAsker(gateway, required)
  return async (c, next) => {
    const access = await checkAccess(gateway, c.req.raw, askedOf(c), paramOf(c.req), peerOf(c, options))
    if (access.kind === 'respond') return access.response
    c.set('svcAccess', access.claims)
    await next()
    keepFromCaches(c)
  }
}
