import type { ServerResponse } from 'node:http'
import type { Reply } from '../transports/http/reply.ts'

/**
 * Writes head and body of a plain reply; ending the response is up to the caller. Saves a 402 about 20 µs of 155 beside
 * `writeHead(status, headers)` and `end(body)`.
 */
export function writeReply(
  outgoing: ServerResponse,
  { status, headers, body, isAscii }: Reply,
  isLast: boolean,
): void {
  const size = body === null ? 0 : isAscii ? body.length : Buffer.byteLength(body)
  // A list: an object of headers would be copied, and copied again by node.
  const list: string[] = []
  for (const name in headers) list.push(name, headers[name]!)
  if (body !== null) list.push('content-length', String(size))
  if (isLast) list.push('connection', 'close')
  outgoing.writeHead(status, list)
  if (body === null) return
  // Corked, head and body go to the system at once; `end` with a body would queue an empty piece after them.
  outgoing.socket?.cork()
  // Text that is all ASCII has the same bytes in both encodings, and this one is the cheaper one.
  outgoing.write(body, size === body.length ? 'latin1' : 'utf8')
  outgoing.socket?.uncork()
}
