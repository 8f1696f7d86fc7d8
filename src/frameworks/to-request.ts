import type { IncomingMessage } from 'node:http'
import { bodyOf } from './incoming-body.ts'
import { lightRequest } from './light-request.ts'

export interface EmbeddedRequest {
  /** The target as the client sent it, where a framework rewrites `incoming.url`. */
  target?: string
  /** What a body parser left behind, in case it has read the body already. */
  parsedBody?: unknown
}

/** node's message as a Fetch request. Throws a TypeError for a target that Fetch cannot express. */
export function toRequest(
  incoming: IncomingMessage,
  origin: string,
  { target = incoming.url ?? '/', parsedBody }: EmbeddedRequest = {},
): Request {
  return lightRequest(incoming, origin, pathOf(target), bodyOf(incoming, parsedBody))
}

/**
 * Origin-form as it is; of an absolute target only the path counts, for its host is the client's claim. It is cut out as
 * text: parsing would change it, and what was sent is compared with what is found.
 */
function pathOf(target: string): string {
  if (target.startsWith('/')) return target
  if (target === '*') return '/'
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]+(.*)$/is.exec(target)
  if (!absolute) throw new TypeError('the request target is neither a path nor a URL')
  const path = absolute[1]!
  return path.startsWith('/') ? path : `/${path}`
}
