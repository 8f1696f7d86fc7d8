import { setsOperatorCookie } from '../protocol/operator-cookie.ts'
import { plainReplyOf } from '../transports/http/reply.ts'
import { apiReply } from './api-reply.ts'

/** What the gateway itself answers: no browser makes a document with scripts of these. */
const INERT = /^(application\/json|text\/(plain|markdown))\s*(;|$)/i

/** Rules for the whole origin, which a backend shares with the operator's pages. */
const ORIGIN_WIDE = ['alt-svc', 'clear-site-data', 'nel', 'report-to', 'service-worker-allowed']
const JUDGED = ['set-cookie', ...ORIGIN_WIDE]

/**
 * The gateway's answer as it may stand in the same origin as the operator's pages. A document of the backend gets an origin
 * of its own, without scripts, and so neither reads nor acts in the operator's session. A further policy can only
 * forbid more, so the backend's own stays.
 */
export function sandboxDocuments(response: Response, request: Request): Response {
  if (isHarmless(response)) return response
  if (request.headers.has('service-worker')) {
    response.body?.cancel().catch(() => {})
    // It would stand between the operator's browser and every page of this origin.
    return apiReply(403, { error: 'A script from here cannot be a service worker.' })
  }
  const headers = new Headers(response.headers)
  const cookies = headers.getSetCookie()
  headers.delete('set-cookie')
  for (const cookie of cookies) if (!setsOperatorCookie(cookie)) headers.append('set-cookie', cookie)
  for (const name of ORIGIN_WIDE) headers.delete(name)
  headers.append('content-security-policy', 'sandbox')
  headers.set('x-content-type-options', 'nosniff')
  const { status, statusText } = response
  return new Response(response.body, { status, statusText, headers })
}

/** Nearly every answer is: a 402 as plain data, which must not be copied for this. */
function isHarmless(response: Response): boolean {
  const headers = plainReplyOf(response)?.headers
  if (!headers || !INERT.test(headers['content-type'] ?? '')) return false
  return !JUDGED.some((name) => headers[name] !== undefined)
}
