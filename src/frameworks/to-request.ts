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

/** Origin-form as it is; of an absolute target only the path counts, for its host is the client's claim. */
function pathOf(target: string): string {
  if (target.startsWith('/')) return target
  if (target === '*') return '/'
  const { pathname, search } = new URL(target)
  return pathname + search
}
