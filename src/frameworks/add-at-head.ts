import type { ServerResponse } from 'node:http'

const isOurs = (name: string): boolean => name.startsWith('x-svc-') || name === 'payment-response'

/**
 * Adds headers to a response when its head is written: before that its status is not decided, and afterwards it is too
 * late. Node writes every head by this method, also one that nobody asked for. What Express's own error page threw away
 * comes back; what the seller set stays, but for the words that are only ours.
 */
export function addAtHead(
  response: ServerResponse,
  headersFor: (status: number) => Record<string, string>,
): void {
  const writeHead = response.writeHead as (...args: unknown[]) => ServerResponse
  response.writeHead = (...args: unknown[]) => {
    if (!response.headersSent) {
      for (const [name, value] of Object.entries(headersFor(Number(args[0])))) {
        if (isOurs(name) || !response.hasHeader(name)) response.setHeader(name, value)
      }
    }
    return writeHead.apply(response, args)
  }
}
