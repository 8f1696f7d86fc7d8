import { setsOperatorCookie } from '../protocol/operator-cookie.ts'
import { headerOf } from '../transports/http/native-request.ts'
import { plainReplyOf, type Reply, toResponse } from '../transports/http/reply.ts'
import { apiReply } from './api-reply.ts'

/** Content types of the gateway's own answers; browsers do not run scripts in them. */
const INERT = /^(application\/json|text\/(plain|markdown))\s*(;|$)/i

/** Headers that affect the whole origin, which the backend shares with the operator's pages. */
const ORIGIN_WIDE = ['alt-svc', 'clear-site-data', 'nel', 'report-to', 'service-worker-allowed']
const POLICY = 'content-security-policy'
const JUDGED = ['set-cookie', ...ORIGIN_WIDE]

/**
 * Makes the gateway's answer safe beside the operator's pages, which have the same origin. `Content-Security-Policy: sandbox`
 * gives a document of the backend an origin of its own without scripts, so that it cannot use the operator's session. A
 * second policy can only forbid more, so the backend's own policy is kept.
 */
export function sandboxDocuments(response: Response, request: Request): Response {
  const plain = plainReplyOf(response)
  if (plain?.isOwnPage) return response
  const isJudged = !plain || JUDGED.some((name) => plain.headers[name] !== undefined)
  if (!isJudged && isHarmless(plain)) return response
  const asWorker = headerOf(request, 'service-worker') !== null
  if (!isJudged && !asWorker) return toResponse({ ...plain, headers: sandboxed(plain.headers) }, request)
  if (asWorker) {
    response.body?.cancel().catch(() => {})
    // A service worker could intercept every page of this origin in the operator's browser.
    return apiReply(403, { error: 'A script from here cannot be a service worker.' })
  }
  const headers = new Headers(response.headers)
  const cookies = headers.getSetCookie()
  headers.delete('set-cookie')
  for (const cookie of cookies) if (!setsOperatorCookie(cookie)) headers.append('set-cookie', cookie)
  for (const name of ORIGIN_WIDE) headers.delete(name)
  headers.append(POLICY, 'sandbox')
  headers.set('x-content-type-options', 'nosniff')
  const { status, statusText } = response
  return new Response(response.body, { status, statusText, headers })
}

/** True of nearly every answer of our own, such as a 402; those are passed on without a copy. */
function isHarmless({ headers, bytes }: Reply): boolean {
  return !bytes && INERT.test(headers['content-type'] ?? '')
}

function sandboxed(headers: Reply['headers']): Reply['headers'] {
  const own = headers[POLICY]
  const policy = own === undefined ? 'sandbox' : `${own}, sandbox`
  return { ...headers, [POLICY]: policy, 'x-content-type-options': 'nosniff' }
}
