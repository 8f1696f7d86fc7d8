import type { SvcPayment } from '../protocol/access.ts'
import type { AccessClaims, EmbeddedGateway, RequiredAccess, SvcCharge } from './embedding.ts'

/**
 * For a route's `preHandler` (after its schema was checked) or `onRequest`. It says nothing of servers, parameters and
 * bodies, so that it fits every route, and the route keeps its own types.
 */
export type RouteHook = (request: object, reply: object) => Promise<unknown>

/** What `app.register(paystile, …)` takes. */
export interface PaystileOptions {
  gateway: EmbeddedGateway
  /** Where the gateway is served: the path of its baseUrl. Default: the root. */
  prefix?: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `payPerRequest`. */
    svcPayment?: SvcPayment
    /** Set by `payPerRequest` on metered routes: says what the call costs. */
    svcCharge?: SvcCharge
    /** Set by `requireAccess`. */
    svcAccess?: AccessClaims
  }
  interface FastifyInstance {
    /** Sells one call of a route: its handler runs once the payment is settled, and its answer goes out as it is. */
    payPerRequest(routeId: string): RouteHook
    /**
     * Lets only bearers of a token in that this gateway sold: for the resource that the path's `resourceId` names, and
     * for this plan if one is named.
     */
    requireAccess(required?: RequiredAccess | ((request: FastifyRequest) => RequiredAccess)): RouteHook
  }
}
