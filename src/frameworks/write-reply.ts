import { ServerResponse } from 'node:http'
import type { Reply } from '../transports/http/reply.ts'

/** Up to here bytes leave as text, in one piece with the head. */
const AS_TEXT_BYTES = 16_384

/**
 * Writes head and body of a plain reply; ending the response is up to the caller. Saves a 402 about 20 µs of 155 beside
 * `writeHead(status, headers)` and `end(body)`.
 */
export function writeReply(outgoing: ServerResponse, reply: Reply, isLast: boolean): void {
  const { status, headers, bytes } = reply
  const asText = bytes !== undefined && bytes.length <= AS_TEXT_BYTES
  const body = asText ? bytes.toString('latin1') : reply.body
  const isAscii = asText || reply.isAscii
  const size = bytes ? bytes.length : body === null ? 0 : isAscii ? body.length : Buffer.byteLength(body)
  // A list: an object of headers would be copied, and copied again by node.
  const list: string[] = []
  for (const name in headers) list.push(name, headers[name]!)
  if (body !== null || bytes) list.push('content-length', String(size))
  if (isLast) list.push('connection', 'close')
  if (outgoing.writeHead === ServerResponse.prototype.writeHead) outgoing.writeHead(status, list)
  else writeHeadOnItsOwn(outgoing, status, list)
  if (body === null && !bytes) return
  // Corked, head and body go to the system at once; `end` with a body would queue an empty piece after them.
  outgoing.socket?.cork()
  // Text that is all ASCII has the same bytes in both encodings, and this one is the cheaper one.
  if (body === null) outgoing.write(bytes)
  else outgoing.write(body, size === body.length ? 'latin1' : 'utf8')
  outgoing.socket?.uncork()
}

/** Middleware has put its own `writeHead` in place of node's, and on-headers before 1.1 takes a list for one of pairs. */
function writeHeadOnItsOwn(outgoing: ServerResponse, status: number, list: readonly string[]): void {
  for (let at = 0; at < list.length; at += 2) outgoing.setHeader(list[at]!, list[at + 1]!)
  outgoing.writeHead(status)
}
