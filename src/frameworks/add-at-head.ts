import type { ServerResponse } from 'node:http'
import { putHeaders } from './put-headers.ts'

/**
 * Adds headers to a response when its head is written: before that its status is not decided, and afterwards it is too
 * late. Node writes every head by this method, also one that nobody asked for. What Express's own error page threw away
 * comes back, and what the seller set under the same names gives way: a paid answer belongs in no cache.
 *
 * Gives a function that says which status went out: a handler may set another one later, which nobody sees.
 */
export function addAtHead(
  response: ServerResponse,
  headersFor: (status: number) => Record<string, string>,
): () => number | undefined {
  const writeHead = response.writeHead as (...args: unknown[]) => ServerResponse
  let sent: number | undefined
  response.writeHead = (...args: unknown[]) => {
    const isLate = response.headersSent
    const given = isLate ? args : putHeaders(response, headersFor(Number(args[0])), args)
    const result = writeHead.apply(response, given)
    if (!isLate && response.headersSent) sent = response.statusCode
    return result
  }
  return () => sent
}
