import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request as ExpressRequest, RequestHandler } from 'express'
import type { SvcPayment } from '../protocol/access.ts'
import { addAtHead } from './add-at-head.ts'
import {
  type AccessClaims,
  answerOwn,
  checkAccess,
  type EmbeddedGateway,
  finisher,
  ORIGIN,
  type RequiredAccess,
  refuseUnknownRoute,
} from './embedding.ts'
import { answerBodyFaults } from './express-body-faults.ts'
import { toRequest } from './light-request.ts'
import { faultResponse, writeResponse } from './node-bridge.ts'
import { watchHead } from './watch-head.ts'

export type { AccessClaims, EmbeddedGateway, RequiredAccess, SvcPayment }

declare global {
  namespace Express {
    interface Request {
      /** Set by `payPerRequest`. */
      svcPayment?: SvcPayment
      /** Set by `requireAccess`. */
      svcAccess?: AccessClaims
    }
  }
}

/**
 * Fits wherever Express takes a `RequestHandler`. It says nothing of parameters and bodies, so that the handlers behind it
 * keep what Express itself reads off the path.
 */
export type ExpressHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>

/** Fits wherever Express takes an `ErrorRequestHandler`. */
export type ExpressErrorHandler = (
  error: unknown,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>

/**
 * Serves the whole gateway below its baseUrl's path, and passes on what is not the gateway's. Two handlers for one
 * `app.use`: the second answers, on the gateway's paths alone, bodies that a parser in front has refused.
 *
 * @example
 * app.use(paystile(gateway))
 */
export function paystile(gateway: EmbeddedGateway): [ExpressHandler, ExpressErrorHandler] {
  return [serveGateway(gateway), answerBodyFaults(gateway) as ExpressErrorHandler]
}

function serveGateway(gateway: EmbeddedGateway): ExpressHandler {
  return handler(async (req, res, next) => {
    const request = fetchRequestOf(req)
    if (!request) return next()
    try {
      const response = await answerOwn(gateway, request, { address: req.ip, a2aOnAccess: true })
      if (response) return await writeResponse(req, res, response)
    } catch (error) {
      return next(error)
    }
    next()
  })
}

/**
 * Sells one call of a route: the handlers behind it run once the payment is settled, and their answer goes out as it is.
 *
 * @example
 * app.get('/weather/:city', payPerRequest(gateway, 'weather'), (req, res) => {
 *   res.json({ city: req.params.city, paidBy: req.svcPayment?.payer })
 * })
 */
export function payPerRequest(gateway: EmbeddedGateway, routeId: string): ExpressHandler {
  refuseUnknownRoute(gateway, routeId)
  return handler(async (req, res, next) => {
    try {
      const request = fetchRequestOf(req)
      if (!request) return await writeResponse(req, res, malformed())
      const charged = await gateway.chargeRoute(request, routeId, { ...(req.ip && { address: req.ip }) })
      if (charged.kind === 'respond') return await writeResponse(req, res, charged.response)
      req.svcPayment = charged.payment
      for (const [name, value] of Object.entries(charged.headers)) res.setHeader(name, value)
      addAtHead(res, charged.headersFor)
      watchHead(res, finisher(charged))
    } catch (error) {
      return next(error)
    }
    next()
  })
}

/**
 * Lets only bearers of a token in that this gateway sold: for the resource that the path's `resourceId` names, and for
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
  return handler(async (req, res, next) => {
    try {
      const asked = typeof required === 'function' ? required(req) : required
      const access = await checkAccess(gateway, req.headers.authorization, asked, (name) => req.params[name])
      if (access.kind === 'respond') return await writeResponse(req, res, access.response)
      req.svcAccess = access.claims
    } catch (error) {
      return next(error)
    }
    next()
  })
}

/** Express calls it with its own request. */
function handler(handle: RequestHandler): ExpressHandler {
  return handle as unknown as ExpressHandler
}

/** undefined: Fetch cannot express this request, so that no buyer can have meant us. */
function fetchRequestOf(req: ExpressRequest): Request | undefined {
  try {
    // Below a mount point `url` has lost its beginning.
    return toRequest(req, ORIGIN, { target: req.originalUrl, parsedBody: req.body })
  } catch {
    return undefined
  }
}

function malformed(): Response {
  return faultResponse(400, 'INVALID_REQUEST', 'the request target or a header is malformed')
}
