import { GatewayError } from '../errors.ts'
import { UNPAID_HEADERS } from '../transports/http/headers.ts'
import { bodyFor } from '../transports/http/problem-body.ts'
import { toResponse } from '../transports/http/reply.ts'

/** The server's own 503, for requests that no gateway answers: a payment among them may have been sent to the chain. */
export function pendingAnswer(
  request: Request,
  message: string,
  details: { retryAfterSeconds: number; hint?: string },
): Response {
  const error = new GatewayError('SETTLEMENT_PENDING', message, details)
  const { contentType, text } = bodyFor(error.toBody(), Object.fromEntries(request.headers))
  const headers = {
    ...UNPAID_HEADERS,
    'content-type': contentType,
    'retry-after': String(details.retryAfterSeconds),
    'x-svc-code': error.code,
  }
  const body = request.method === 'HEAD' ? null : text
  return toResponse({ status: error.httpStatus, headers, body }, request)
}
