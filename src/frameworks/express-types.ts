import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SvcPayment } from '../protocol/access.ts'
import type { AccessClaims, SvcCharge } from './embedding.ts'

declare global {
  namespace Express {
    interface Request {
      /** Set by `payPerRequest`. */
      svcPayment?: SvcPayment
      /** Set by `payPerRequest` on metered routes: says what the call costs. Also `res.locals.charge`. */
      svcCharge?: SvcCharge
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
