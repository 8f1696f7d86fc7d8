import type { Request as ExpressRequest, Response as ExpressResponse, RequestHandler } from 'express'
import { ORIGIN } from './embedding.ts'
import type { ExpressHandler } from './express-types.ts'
import { toRequest } from './to-request.ts'
import { surviveDisconnect, writeResponse } from './write-response.ts'

/**
 * Makes a handler that sends the answer which it is given, and goes on to the next handler where there is none. 'over': somebody else has
 * answered the request, so that it does neither.
 */
export function handlerOf(
  answer: (req: ExpressRequest, res: ExpressResponse) => Promise<Response | 'over' | undefined>,
): ExpressHandler {
  const handler: RequestHandler = async (req, res, next) => {
    try {
      const response = await answer(req, res)
      if (response === 'over') return
      if (response) return await sendResponse(req, res, response)
    } catch (error) {
      return next(error)
    }
    next()
  }
  // Express calls it with its own request and response.
  return handler as unknown as ExpressHandler
}

/** Express runs on more than node:http: of other messages we do not know that they keep quiet when a client leaves. */
export async function sendResponse(
  req: ExpressRequest,
  res: ExpressResponse,
  response: Response,
): Promise<void> {
  // Something in front has answered meanwhile, such as a time limit.
  if (res.headersSent) return
  surviveDisconnect(req, res)
  await writeResponse(req, res, response)
}

/** undefined: Fetch cannot express this request, so that no buyer can have meant us. */
export function fetchRequestOf(req: ExpressRequest): Request | undefined {
  try {
    // Below a mount point `url` has lost its beginning.
    return toRequest(req, ORIGIN, { target: req.originalUrl, parsedBody: req.body })
  } catch {
    return undefined
  }
}
