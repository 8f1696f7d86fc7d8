import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { faultBody } from '../frameworks/fault-response.ts'
import { isWhole } from '../frameworks/incoming-body.ts'
import { bridgeToNode, type FetchHandler, type NodeBridgeOptions } from '../frameworks/node-bridge.ts'
import { createLastAnswers } from './last-answers.ts'
import { waitAtMost } from './wait-at-most.ts'

export interface ServeHttpOptions extends Pick<NodeBridgeOptions, 'origin' | 'trustProxy' | 'onError'> {
  handler: FetchHandler
  /** 0: any free port. */
  port: number
  /** Default: every interface. */
  host?: string
  /** Default 64 KiB: more than the largest payment, so that a header that is too large gets an explanation and not a bare 431. */
  maxHeaderBytes?: number
  /** For the request line and headers. Default 10 s. */
  headersTimeoutMs?: number
  /**
   * For the request with its body; not for the answer, which may wait for a settlement. Default 30 s. A function is called
   * at every request.
   */
  requestTimeoutMs?: number | (() => number)
  keepAliveTimeoutMs?: number
  /** A connection without a byte in either direction for this long is dead. Default 300 s. */
  idleTimeoutMs?: number
  /** Told when requests outlast the grace period of `close`: how many, each answered 503. */
  onLeftOpen?(count: number): void
}

export interface HttpServer {
  url: string
  port: number
  /**
   * Accepts no new request, lets those in flight finish (also if their client has left), then closes. Connections still open
   * after `graceMs` (default 60 s) are cut; just before, requests without an answer get one: 503, which says what to do.
   */
  close(graceMs?: number): Promise<void>
}

export const DEFAULT_REQUEST_TIMEOUT_MS = 30_000
const IDLE_CHECK_MS = 20
/**
 * How long before connections are cut the requests that are still open are answered. Long enough to write these answers, and
 * no longer: what a handler answers after them is thrown away, and may have been paid for.
 */
const LAST_ANSWERS_MS = 250

const CLIENT_FAULTS: Record<string, [number, string, string]> = {
  HPE_HEADER_OVERFLOW: [
    431,
    'Request Header Fields Too Large',
    'the headers exceed the limit; send fewer or shorter ones',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'the request did not arrive in time; send it again'],
}

/** Starts the standalone server: node:http with the limits that a public address needs. */
export async function serveHttp(options: ServeHttpOptions): Promise<HttpServer> {
  const { headersTimeoutMs = 10_000, requestTimeoutMs: given = DEFAULT_REQUEST_TIMEOUT_MS, host } = options
  const requestTimeoutMs = typeof given === 'function' ? given : () => given
  let closing = false
  const answers = createLastAnswers(options.handler, options.onError)
  const bridge = bridgeToNode(answers.handler, { ...options, a2aOnAccess: true, closing: () => closing })
  const inFlight = new Set<Promise<void>>()
  /** What is answered on a connection now: several, where a client sends on without waiting. */
  const answering = new WeakMap<Duplex, Set<ServerResponse>>()

  const server = createServer({
    maxHeaderSize: options.maxHeaderBytes ?? 64 * 1024,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs()),
    requestTimeout: requestTimeoutMs(),
    keepAliveTimeout: options.keepAliveTimeoutMs ?? 5_000,
    // How often node checks for late requests; its default of 30 s would triple the timeouts above.
    connectionsCheckingInterval: Math.max(50, Math.min(1_000, headersTimeoutMs / 4)),
  })
  server.timeout = options.idleTimeoutMs ?? 300_000
  const take = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { socket } = incoming
    const open = answering.get(socket) ?? new Set()
    if (open.size === 0) answering.set(socket, open)
    open.add(outgoing)
    outgoing.once('close', () => open.delete(outgoing))
    track(bridge(incoming, outgoing))
  }
  const track = (work: Promise<void>): void => {
    const over = () => void inFlight.delete(tracked)
    const tracked = work.then(over, over)
    inFlight.add(tracked)
  }
  server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // Node reads this value whenever it checks for late requests.
    server.requestTimeout = requestTimeoutMs()
    // A small body usually comes with the headers, and is there once node has handled what it read: no need to wait later.
    if (isWhole(incoming)) take(incoming, outgoing)
    else setImmediate(take, incoming, outgoing)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    refuseConnection(error, socket, answering.get(socket))
  })

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port: options.port, ...(host !== undefined && { host }) }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const { port, address, family } = server.address() as AddressInfo
  const wildcard = address === '::' || address === '0.0.0.0'
  const name = wildcard ? 'localhost' : family === 'IPv6' ? `[${address}]` : address

  let closed: Promise<void> | undefined
  const close = async (graceMs: number) => {
    closing = true
    const socketsGone = new Promise<void>((resolve) => server.close(() => resolve()))
    // Connections that are busy now become idle once their answer is sent.
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS)
    // A settlement whose client has left has no socket any more, so wait for the handlers too.
    const finished = (async () => {
      while (inFlight.size > 0) await Promise.allSettled(inFlight)
      await socketsGone
    })()
    const lastAnswersMs = Math.min(LAST_ANSWERS_MS, graceMs / 2)
    await waitAtMost(graceMs - lastAnswersMs, finished)
    const left = answers.answerOpen()
    left.forEach(track)
    if (left.length > 0) options.onLeftOpen?.(left.length)
    await waitAtMost(lastAnswersMs, finished)
    clearInterval(idle)
    server.closeAllConnections()
    await socketsGone
  }
  return {
    url: `http://${name}:${port}`,
    port,
    close: (graceMs = 60_000) => {
      closed ??= close(graceMs)
      return closed
    },
  }
}

/** Answers a request that node could not parse or did not receive in time; closes when the client had time to read it. */
function refuseConnection(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  open: ReadonlySet<ServerResponse> = new Set(),
): void {
  // These bytes would become a part of a response, or be taken for the answer to a purchase that goes on.
  const wouldMislead = [...open].some(
    ({ headersSent, writableFinished, req }) => !writableFinished && (headersSent || req.complete),
  )
  if (error.code === 'ECONNRESET' || !socket.writable || wouldMislead) {
    if (!socket.writableEnded) socket.destroy()
    return
  }
  const [status, reason, message] = CLIENT_FAULTS[error.code ?? ''] ?? [
    400,
    'Bad Request',
    'this is not valid HTTP/1.1',
  ]
  const body = faultBody(status, 'INVALID_REQUEST', message)
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-type: application/json\r\ncache-control: no-store\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  // The client may still be sending; a reset now could make it lose the answer.
  setTimeout(() => socket.destroy(), 1000).unref()
}
