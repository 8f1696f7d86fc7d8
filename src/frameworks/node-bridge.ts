import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Peer } from '../transports/http/safeguards.ts'
import { faultResponse } from './fault-response.ts'
import { remoteAddress } from './remote-address.ts'
import { toRequest } from './to-request.ts'
import { writeResponse } from './write-response.ts'

export type FetchHandler = (request: Request, peer?: Peer) => Response | Promise<Response>

export interface NodeBridgeOptions {
  /** Scheme and host of `request.url`; never taken from the client's `Host`. Default `http://localhost`. */
  origin?: string
  /** Number of proxies in front whose `X-Forwarded-For` is believed; `true` is one; a function is asked each time. Default false. */
  trustProxy?: boolean | number | (() => boolean | number)
  /** Told when the handler, or a body that it streams, throws. */
  onError?(error: unknown): void
  /** This server answers A2A on `/x402/access` as well. */
  a2aOnAccess?: boolean
  /** Once true, answers ask the client to close the connection. */
  closing?(): boolean
}

/**
 * Serves a Fetch handler on node:http. A client that disconnects stops nothing: the handler may be settling a
 * payment, and runs to its end. What is returned resolves when it has, and what it answered was written.
 */
export function bridgeToNode(
  handler: FetchHandler,
  options: NodeBridgeOptions = {},
): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  const { origin = 'http://localhost', trustProxy = false, a2aOnAccess = false } = options

  return async (incoming, outgoing) => {
    let response: Response
    try {
      response = await ask(incoming)
    } catch (error) {
      options.onError?.(error)
      const message = 'the server met an unexpected fault; send the same request again'
      response = faultResponse(500, 'INTERNAL_ERROR', message, incoming.headers)
    }
    try {
      const streaming = writeResponse(incoming, outgoing, response, options.closing?.())
      if (streaming) await streaming
    } catch (error) {
      options.onError?.(error)
      outgoing.destroy()
    }
  }

  function ask(incoming: IncomingMessage): Response | Promise<Response> {
    let request: Request
    try {
      request = toRequest(incoming, origin)
    } catch {
      const message = 'the request target or a header is malformed'
      return faultResponse(400, 'INVALID_REQUEST', message, incoming.headers)
    }
    const hops = typeof trustProxy === 'function' ? trustProxy() : trustProxy
    return handler(request, { address: remoteAddress(incoming, hops), a2aOnAccess })
  }
}
