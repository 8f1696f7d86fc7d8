import type { ErrorRequestHandler, Request as ExpressRequest } from 'express'
import { type EmbeddedGateway, ORIGIN } from './embedding.ts'
import { sendResponse } from './express-handler.ts'
import type { ExpressErrorHandler } from './express-types.ts'
import { faultResponse } from './fault-response.ts'
import { toRequest } from './to-request.ts'

/** What Express's body parsers tell of a body that they refuse. */
interface BodyFault {
  /** Such as `entity.parse.failed`. */
  type: string
  status: number
  /** The text, where it was read and is no JSON. */
  body?: unknown
  /** Of a body that is too large. */
  limit?: unknown
}

/**
 * A parser in front of the gateway (`express.json()`) refuses bodies before the gateway sees them. On the gateway's own
 * paths they are answered as it would; everything else stays the seller's.
 */
export function answerBodyFaults(gateway: EmbeddedGateway): ExpressErrorHandler {
  const handler: ErrorRequestHandler = async (error: unknown, req, res, next) => {
    const fault = bodyFaultOf(error)
    if (!fault || res.headersSent) return next(error)
    try {
      const response = await answerTo(gateway, req, fault)
      if (response) return await sendResponse(req, res, response)
    } catch (cause) {
      return next(cause)
    }
    next(error)
  }
  return handler as ExpressErrorHandler
}

/** undefined: not a path of the gateway. */
async function answerTo(
  gateway: EmbeddedGateway,
  req: ExpressRequest,
  { type, status, body, limit }: BodyFault,
): Promise<Response | undefined> {
  const peer = { address: req.ip, a2aOnAccess: true }
  const target = req.originalUrl
  // What was read is shown to the gateway as it came: it has words of its own for what is no JSON.
  if (type === 'entity.parse.failed' && typeof body === 'string') {
    return gateway.handle(toRequest(req, ORIGIN, { target, parsedBody: body }), peer)
  }
  // Whose path it is shows without the request itself, which must not be taken for one without a body.
  const isOwn = await gateway.handle(new Request(ORIGIN + target, { method: 'OPTIONS' }), peer)
  if (!isOwn) return undefined
  if (status === 413) {
    const most = typeof limit === 'number' ? `${limit} bytes` : 'the limit'
    return faultResponse(413, 'BODY_TOO_LARGE', `the body exceeds ${most}; send a smaller one`, req.headers)
  }
  return faultResponse(status, 'INVALID_REQUEST', 'the body cannot be read; send JSON in UTF-8', req.headers)
}

function bodyFaultOf(error: unknown): BodyFault | undefined {
  if (!(error instanceof Error)) return undefined
  const { type, status, body, limit } = error as Error & Partial<BodyFault>
  if (typeof type !== 'string' || !/^(entity|encoding|charset|request)\./.test(type)) return undefined
  const isClients = typeof status === 'number' && status >= 400 && status < 500
  return isClients ? { type, status, body, limit } : undefined
}
