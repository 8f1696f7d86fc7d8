import type { ServerResponse } from 'node:http'
import type { Context } from 'hono'

/** Those of the answer as it is. */
export function readableHeaders(c: Context): Array<[string, string]> {
  try {
    // What a handler has answered may have no headers at all, or such as no response can have.
    const given: Headers | undefined = c.res.headers
    return typeof given?.getSetCookie === 'function' ? [...given] : []
  } catch {
    // The light response of @hono/node-server can be read no more once its body was sent.
    return []
  }
}

/** By the `RESPONSE_ALREADY_SENT` of @hono/node-server, which says nothing of what was sent. */
export const hasSentItself = (c: Context) =>
  readableHeaders(c).some(([name]) => name === 'x-hono-already-sent')

/** Something in front has answered, such as a time limit, and its answer is out. Only on node does anybody know. */
export function isOut(c: Context): boolean {
  const { outgoing } = (c.env ?? {}) as { outgoing?: ServerResponse }
  return outgoing?.headersSent === true
}
