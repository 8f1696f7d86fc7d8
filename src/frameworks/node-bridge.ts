import { once } from 'node:events'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { plainReplyOf, type Reply } from '../transports/http/reply.ts'
import type { Peer } from '../transports/http/safeguards.ts'
import type { Soon } from '../transports/http/soon.ts'
import { isWhole, toRequest } from './light-request.ts'
import { remoteAddress } from './remote-address.ts'

export type FetchHandler = (request: Request, peer?: Peer) => Soon<Response>

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

/** How long a client that is still sending may go on before its connection is cut. */
const LINGER_MS = 1000

/**
 * Serves a Fetch handler on node:http. A client that disconnects stops nothing: the handler may be settling a
 * payment, and runs to its end. What is returned resolves when it has, and what it answered was written; a promise
 * only where there was something to wait for.
 */
export function bridgeToNode(
  handler: FetchHandler,
  options: NodeBridgeOptions = {},
): (incoming: IncomingMessage, outgoing: ServerResponse) => Soon<void> {
  const { origin = 'http://localhost', trustProxy = false, a2aOnAccess = false } = options

  return (incoming, outgoing) => {
    const cut = (error: unknown): void => {
      options.onError?.(error)
      outgoing.destroy()
    }
    try {
      const response = answer(incoming)
      if (!(response instanceof Promise)) return write(incoming, outgoing, response, options)?.catch(cut)
      surviveDisconnect(incoming, outgoing)
      return response
        .catch(unexpected)
        .then((late) => write(incoming, outgoing, late, options))
        .catch(cut)
    } catch (error) {
      cut(error)
    }
  }

  function answer(incoming: IncomingMessage): Soon<Response> {
    let request: Request
    try {
      request = toRequest(incoming, origin)
    } catch {
      return faultResponse(400, 'INVALID_REQUEST', 'the request target or a header is malformed')
    }
    try {
      const hops = typeof trustProxy === 'function' ? trustProxy() : trustProxy
      return handler(request, { address: remoteAddress(incoming, hops), a2aOnAccess })
    } catch (error) {
      return unexpected(error)
    }
  }

  function unexpected(error: unknown): Response {
    options.onError?.(error)
    const message = 'the server met an unexpected fault; send the same request again'
    return faultResponse(500, 'INTERNAL_ERROR', message)
  }
}

/** Writes a Fetch response to node's own; a client that left is no error, a body that fails while it streams is one. */
export function writeResponse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: Response,
): Promise<void> | undefined {
  // Frameworks run on more than node:http: of their own messages we do not know that they keep quiet.
  surviveDisconnect(incoming, outgoing)
  return write(incoming, outgoing, response, {})
}

function write(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: Response,
  { closing }: Pick<NodeBridgeOptions, 'closing'>,
): Promise<void> | undefined {
  const plain = plainReplyOf(response)
  const isLast = closing?.() || !isWhole(incoming)
  if (!plain) return writeStream(incoming, outgoing, response, isLast)
  writePlain(incoming, outgoing, plain, isLast)
  return undefined
}

/** Both may fail later, when the client leaves; without listeners node would take that for a crash. */
function surviveDisconnect(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.listenerCount('error', ignore) === 0) incoming.on('error', ignore)
  if (outgoing.listenerCount('error', ignore) === 0) outgoing.on('error', ignore)
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
  { status, headers, body, isAscii }: Reply,
  isLast: boolean,
): void {
  if (outgoing.destroyed) return
  const size = body === null ? 0 : isAscii ? body.length : Buffer.byteLength(body)
  // A list: copying the headers' object would cost more than the rest of this.
  const list: string[] = []
  for (const name in headers) list.push(name, headers[name]!)
  if (body !== null) list.push('content-length', String(size))
  if (isLast) list.push('connection', 'close')
  outgoing.writeHead(status, list)
  // ASCII, as nearly always: the same bytes either way, but encoding them as UTF-8 costs more than sending them.
  const encoding = size === body?.length ? 'latin1' : 'utf8'
  if (isWhole(incoming)) {
    if (body !== null) writeAtOnce(outgoing, body, encoding)
    outgoing.end()
  } else {
    if (body !== null) outgoing.write(body, encoding)
    else outgoing.flushHeaders()
    endAfterLinger(incoming, outgoing)
  }
}

/**
 * Head and body go to the system in one piece, now. `end` with a body would queue an empty piece after them, and handing
 * two pieces over costs a 402 a tenth of its time.
 */
function writeAtOnce(outgoing: ServerResponse, body: string, encoding: 'latin1' | 'utf8'): void {
  outgoing.socket?.cork()
  outgoing.write(body, encoding)
  outgoing.socket?.uncork()
}

async function writeStream(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: Response,
  isLast: boolean,
): Promise<void> {
  surviveDisconnect(incoming, outgoing)
  const headers = headersOf(response)
  if (isLast) headers.connection = 'close'
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
  if (isWhole(incoming)) outgoing.end()
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
  surviveDisconnect(incoming, outgoing)
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
