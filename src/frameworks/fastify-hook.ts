import type { FastifyReply, FastifyRequest } from 'fastify'
import { plainReplyOf } from '../transports/http/reply.ts'
import { ORIGIN } from './embedding.ts'
import type { RouteHook } from './fastify-types.ts'
import { toRequest } from './to-request.ts'

/** Makes a hook that sends the answer which it is given, and lets the route go on where there is none. */
export function hookOf(
  answer: (request: FastifyRequest, reply: FastifyReply) => Promise<Response | undefined>,
): RouteHook {
  const hook = async (request: FastifyRequest, reply: FastifyReply) => {
    const response = await answer(request, reply)
    return response && sendResponse(reply, response)
  }
  // Fastify calls it with its own request and reply.
  return hook as RouteHook
}

/** Throws a TypeError for a target that Fetch cannot express. */
export function fetchRequestOf(request: FastifyRequest): Request {
  return toRequest(request.raw, ORIGIN, { target: request.originalUrl, parsedBody: request.body })
}

/** Sends a Fetch response by Fastify's own reply, so that the seller's `onSend` hooks see it. */
export function sendResponse(reply: FastifyReply, response: Response): FastifyReply {
  const plain = plainReplyOf(response)
  if (!plain) return reply.send(response)
  const { status, headers, body, bytes } = plain
  // As bytes: of a string Fastify would think that it may still choose a type and a charset.
  return reply
    .code(status)
    .headers(headers)
    .send(bytes ?? (body === null ? undefined : Buffer.from(body)))
}
