import { once } from 'node:events'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { plainReplyOf, type Reply } from '../transports/http/reply.ts'
import type { Peer } from '../transports/http/safeguards.ts'
import { toRequest } from './light-request.ts'
import { remoteAddress } from './remote-address.ts'

export type FetchHandler = (request: Request, peer?: Peer) => Promise<Response>

export interface NodeBridgeOptions {
  /** Scheme and host of `request.url`; never taken from the client's `Host`. Default `http://localhost`. */
  origin?: string
  /** Number of proxies in front whose `X-Forwarded-For` is believed; `true` is one; a function is asked each time. Default false. */
  trustProxy?: boolean | number | (() => boolean | number)
  /** Told when the handler, or a body that it streams, throws. */
  onError?(error: unknown): void
  /** Once true, answers ask the client to close the connection. */
  closing?(): boolean
}

/** How long a client that is still sending may go on before its connection is cut. */
const LINGER_MS = 1000

/**
 * Serves a Fetch handler on node:http. A client that disconnects stops nothing: the handler may be settling a
 * payment, and runs to its end. The promise resolves when it has, and what it answered was written.
 */
export function bridgeToNode(
  handler: FetchHandler,
  options: NodeBridgeOptions = {},
): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  const { origin = 'http://localhost', trustProxy = false } = options

  return async (incoming, outgoing) => {
    surviveDisconnect(incoming, outgoing)
    try {
      await writeResponse(incoming, outgoing, await answer(incoming), options)
    } catch (error) {
      options.onError?.(error)
      outgoing.destroy()
    }
  }

  async function answer(incoming: IncomingMessage): Promise<Response> {
    let request: Request
    try {
      request = toRequest(incoming, origin)
    } catch {
      return faultResponse(400, 'INVALID_REQUEST', 'the request target or a header is malformed')
    }
    try {
      const hops = typeof trustProxy === 'function' ? trustProxy() : trustProxy
      return await handler(request, { address: remoteAddress(incoming, hops) })
    } catch (error) {
      options.onError?.(error)
      return faultResponse(
        500,
        'INTERNAL_ERROR',
        'the server met an unexpected fault; send the same request again',
      )
    }
  }
}

/** Writes a Fetch response to node's own; a client that left is no error, a body that fails while it streams is one. */
export async function writeResponse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: Response,
  { closing }: Pick<NodeBridgeOptions, 'closing'> = {},
): Promise<void> {
  surviveDisconnect(incoming, outgoing)
  const plain = plainReplyOf(response)
  const headers = plain ? { ...plain.headers } : headersOf(response)
  if (closing?.() || !incoming.complete) headers.connection = 'close'
  if (plain) writePlain(incoming, outgoing, plain, headers)
  else await writeStream(incoming, outgoing, response, headers)
}

/** Both fail when the client leaves; without listeners node would take that for a crash. */
function surviveDisconnect(incoming: IncomingMessage, outgoing: ServerResponse): void {
  for (const end of [incoming, outgoing]) {
    if (end.listenerCount('error', ignore) === 0) end.on('error', ignore)
  }
}

/** The error body of every transport, for faults that no handler of ours has seen. */
export function faultBody(httpStatus: number, code: string, message: string): string {
  return JSON.stringify({ type: 'Error', code, message, httpStatus })
}

/** A fault as a response. */
export function faultResponse(status: number, code: string, message: string): Response {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-svc-code': code }
  return new Response(faultBody(status, code, message), { status, headers })
}

function headersOf(response: Response): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = Object.fromEntries(response.headers)
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) headers['set-cookie'] = cookies
  return headers
}

function writePlain(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, body }: Reply,
  headers: OutgoingHttpHeaders,
): void {
  if (outgoing.destroyed) return
  const size = body === null ? 0 : Buffer.byteLength(body)
  if (body !== null) headers['content-length'] = size
  outgoing.writeHead(status, headers)
  // ASCII, as nearly always: the same bytes either way, but encoding them as UTF-8 costs more than sending them.
  const encoding = size === body?.length ? 'latin1' : 'utf8'
  if (incoming.complete) outgoing.end(body ?? undefined, encoding)
  else {
    if (body !== null) outgoing.write(body, encoding)
    else outgoing.flushHeaders()
    endAfterLinger(incoming, outgoing)
  }
}

async function writeStream(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: Response,
  headers: OutgoingHttpHeaders,
): Promise<void> {
  const reader = response.body?.getReader()
  if (outgoing.destroyed) return void reader?.cancel().catch(ignore)
  outgoing.writeHead(response.status, headers)
  outgoing.flushHeaders()
  if (incoming.method === 'HEAD') reader?.cancel().catch(ignore)
  else if (reader) {
    // The source of a stream that nobody reads any more must learn of it, even while it is silent.
    outgoing.once('close', () => reader.cancel().catch(ignore))
    for (;;) {
      const { done, value } = await reader.read()
      if (done || outgoing.destroyed) break
      if (!outgoing.write(value)) await roomOrGone(outgoing)
    }
  }
  if (incoming.complete) outgoing.end()
  else endAfterLinger(incoming, outgoing)
}

/** Waits for a slow reader; one that left never drains. */
async function roomOrGone(outgoing: ServerResponse): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  try {
    await Promise.race([once(outgoing, 'drain', { signal }), once(outgoing, 'close', { signal })])
  } catch {
    // An error closes the response too; the caller sees `destroyed`.
  } finally {
    over.abort()
  }
}

/**
 * The answer is out while the client still sends (a body over the limit, say). Closing now would reset the
 * connection and the client would never read our answer; reading on for ever would be an attack. So: a moment.
 */
function endAfterLinger(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const finish = () => {
    clearTimeout(timer)
    outgoing.end()
    incoming.socket.destroySoon()
  }
  const timer = setTimeout(finish, LINGER_MS)
  incoming.once('end', finish).once('close', finish)
  incoming.resume()
}

function ignore(): void {}
