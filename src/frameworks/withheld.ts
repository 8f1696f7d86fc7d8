import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../errors.ts'
import { bodyFor } from '../transports/http/problem-body.ts'
import type { Reply } from '../transports/http/reply.ts'
import type { Paid } from './embedding.ts'

/** What a buyer gets in place of an answer whose debit, or whose delivery, could not be stored. */
export function withheld(error: unknown, { payment }: Paid, asked: IncomingHttpHeaders): Reply {
  const what = payment.credits ? 'debit' : 'delivery'
  const hint = payment.credits
    ? 'send the same call again'
    : 'send the same call again, with the same payment'
  const message = `The ${what} of this call could not be stored, so its answer is withheld.`
  const refused =
    error instanceof GatewayError ? error : new GatewayError('SETTLEMENT_PENDING', message, { hint })
  const { contentType, text } = bodyFor(refused.toBody(), asked)
  const headers = {
    'content-type': contentType,
    'cache-control': 'no-store',
    'x-svc-code': refused.code,
    'retry-after': String(refused.details.retryAfterSeconds ?? 5),
  }
  return { status: refused.httpStatus, headers, body: text }
}
