import type { IncomingHttpHeaders } from 'node:http'
import { spokenBy } from '../../dialects/mpp/spoken.ts'
import { AUTHORIZATION, PAYMENT_AUTHORIZATION } from '../../dialects/mpp/words.ts'
import { problemOf } from '../../dialects/mpp/write-answers.ts'
import type { ErrorBody } from '../../protocol/error-codes.ts'

/** An error as JSON, and its content type: problem details (RFC 9457) if the request with these headers brings an MPP credential. */
export function bodyFor(
  error: ErrorBody,
  asked: IncomingHttpHeaders = {},
): { contentType: string; text: string } {
  const one = (name: string): string | null => {
    const value = asked[name] ?? null
    return Array.isArray(value) ? value.join(', ') : value
  }
  return spokenBy(one(AUTHORIZATION), one(PAYMENT_AUTHORIZATION), null).paysByMpp
    ? { contentType: 'application/problem+json', text: JSON.stringify(problemOf(error)) }
    : { contentType: 'application/json', text: JSON.stringify(error) }
}
