import type { Context } from 'hono'
import { isCaching } from '../protocol/caching-headers.ts'
import { beginBody } from './begin-body.ts'
import { hasSentItself, isOut, readableHeaders } from './hono-out.ts'

/** Headers that say something of a body, and would be wrong of another one. */
const OF_THE_BODY = /^(content-(?!security-)|transfer-encoding$|etag$|last-modified$)/

/**
 * The status of the answer, once it is sure to go out: of a body that comes in pieces the first one is awaited. Undefined: a time
 * limit in front of us has answered meanwhile. Rejects if this answer cannot go out.
 */
export async function readyStatus(c: Context): Promise<number | undefined> {
  if (isOut(c) && !hasSentItself(c)) return undefined
  // Hono itself answers with an error what nobody has answered.
  if (!c.finalized) return 500
  const { res } = c
  const { body, status, headers } = res
  if (isNothing(c))
    throw new TypeError(
      'payPerRequest: the handler answered nothing; return a Response, and one with status 204 if it is to be empty',
    )
  if (isTaken(res)) {
    if (c.error) return undefined
    throw new TypeError(
      'payPerRequest: the body of this answer was read already; read a copy, response.clone()',
    )
  }
  // What an error handler answers does not fail once more, Hono drops the body that answers a HEAD, and an event stream may be
  // silent for long.
  if (c.error || !body || isHead(c) || headers.get('content-type')?.startsWith('text/event-stream'))
    return status
  const begun = await beginBody(body, c.req.raw.signal, () => c.res === res)
  if (c.res !== res || isOut(c)) {
    begun.cancel().catch(() => {})
    return undefined
  }
  replaceAnswer(c, new Response(begun, res))
  return status
}

/** Puts a failure in the place of an answer that cannot go out: the app's error handler adds our headers to its own answer. */
export function replaceByFailure(c: Context, ours: Record<string, string>): void {
  const headers = new Headers(
    readableHeaders(c).filter(([name]) => !OF_THE_BODY.test(name) && !isCaching(name)),
  )
  for (const [name, value] of Object.entries(ours)) headers.set(name, value)
  replaceAnswer(c, new Response(null, { status: 500, headers }))
}

/**
 * There is no answer, or what is there is none. Of nothing, and of an object that is no response, Hono makes an empty 200 where a
 * sub-app has its own error handler, or where middleware has set headers. It cannot be told from an empty 200 that the handler
 * made, which delivers nothing either.
 */
export function isNothing(c: Context): boolean {
  // Not by its class: a server may have put a Response of its own in place of the global one.
  if (!c.finalized || typeof c.res.arrayBuffer !== 'function') return true
  // That of `Response.error()`, which nobody can send.
  if (c.res.status === 0) return true
  return c.res.status === 200 && !c.res.body && !isHead(c)
}

const isHead = ({ req }: Context): boolean => req.method === 'HEAD'

/** Nobody else can send it. */
export function isTaken({ body, bodyUsed }: Response): boolean {
  return bodyUsed || body?.locked === true
}

export function replaceAnswer(c: Context, response: Response): void {
  // Hono would add the headers of the answer that is replaced.
  c.res = undefined
  c.res = response
}
