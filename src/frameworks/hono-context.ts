import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import type { Peer } from '../transports/http/safeguards.ts'
import { remoteAddress } from './remote-address.ts'

/** Who is asking, behind proxies: Hono itself has no word for it. */
export interface PeerOptions {
  /** Number of proxies in front whose `X-Forwarded-For` is believed; `true` is one. Default false. */
  trustProxy?: boolean | number
}

/** On node the connection is in the environment; elsewhere nobody knows, and nobody is limited. */
export function peerOf(c: Context, { trustProxy = false }: PeerOptions): Peer {
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  return incoming ? { address: remoteAddress(incoming, trustProxy) } : {}
}

/** Middleware before us may have read the body; Hono keeps what it read. */
export async function wholeRequest({ req }: Context): Promise<Request> {
  const { url, method, headers } = req.raw
  // Whoever read the body of a GET left an empty one behind, which no Request may carry.
  if (Object.keys(req.bodyCache).length === 0 || method === 'GET' || method === 'HEAD') return req.raw
  return new Request(url, { method, headers, body: await req.arrayBuffer() })
}

/** Reads parameters of this route or of one behind it: `app.use('/resource/*', …)` itself has none. */
export function paramOf(req: Context['req']): (name: string) => string | undefined {
  return (name) => {
    const own = req.routeIndex
    try {
      for (; req.routeIndex < req.matchedRoutes.length; req.routeIndex++) {
        const value = req.param(name)
        if (value !== undefined) return value
      }
      return undefined
    } finally {
      req.routeIndex = own
    }
  }
}
