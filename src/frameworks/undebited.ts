import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../errors.ts'
import { bodyFor } from '../transports/http/problem-body.ts'
import type { Reply } from '../transports/http/reply.ts'

/** What a buyer gets in place of an answer whose debit could not be stored. */
export function undebited(error: unknown, asked: IncomingHttpHeaders): Reply {
  const message = 'The debit of this call could not be stored, so its answer is withheld.'
  const refused =
    error instanceof GatewayError
      ? error
      : new GatewayError('SETTLEMENT_PENDING', message, { hint: 'send the same call again' })
  const { contentType, text } = bodyFor(refused.toBody(), asked)
  const headers = {
    'content-type': contentType,
    'cache-control': 'no-store',
    'x-svc-code': refused.code,
    'retry-after': String(refused.details.retryAfterSeconds ?? 5),
  }
  return { status: refused.httpStatus, headers, body: text }
}
