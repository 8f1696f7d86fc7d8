import { once } from 'node:events'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { plainReplyOf } from '../transports/http/reply.ts'
import { isWhole } from './incoming-body.ts'
import { writeReply } from './write-reply.ts'

/** How long a client that is still sending may go on before its connection is cut. */
const LINGER_MS = 1000

/**
 * Writes a Fetch response to node's own. A client that left is no error; a body that fails while it streams is one, with
 * which the promise rejects. undefined: all of it is written already. `isClosing`: the client is asked to close the connection.
 */
export function writeResponse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  response: Response,
  isClosing = false,
): Promise<void> | undefined {
  const plain = plainReplyOf(response)
  const isLast = isClosing || !isWhole(incoming)
  if (!plain) return writeStream(incoming, outgoing, response, isLast)
  if (outgoing.destroyed) return undefined
  writeReply(outgoing, plain, isLast)
  endWhenHeard(incoming, outgoing)
  return undefined
}

/**
 * Both may fail later, when the client leaves; without listeners node would take that for a crash. Where we write once and
 * at once, node:http says nothing of it, and listeners would cost a 402 8 µs of 137.
 */
export function surviveDisconnect(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.listenerCount('error', ignore) === 0) incoming.on('error', ignore)
  if (outgoing.listenerCount('error', ignore) === 0) outgoing.on('error', ignore)
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
  else if (reader) await pump(reader, outgoing)
  endWhenHeard(incoming, outgoing)
}

async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  outgoing: ServerResponse,
): Promise<void> {
  // The source of a stream that nobody reads any more must learn of it, even while it is silent.
  outgoing.once('close', () => reader.cancel().catch(ignore))
  for (;;) {
    const { done, value } = await reader.read()
    if (done || outgoing.destroyed) return
    if (!outgoing.write(value)) await roomOrGone(outgoing)
  }
}

function headersOf(response: Response): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = Object.fromEntries(response.headers)
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) headers['set-cookie'] = cookies
  return headers
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
 * The client may still be sending while the answer is out (a body over the limit, say). Closing now would reset the
 * connection and the client would never read our answer; reading on for ever would be an attack. So: a moment.
 */
function endWhenHeard(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (isWhole(incoming)) return void outgoing.end()
  surviveDisconnect(incoming, outgoing)
  outgoing.flushHeaders()
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
