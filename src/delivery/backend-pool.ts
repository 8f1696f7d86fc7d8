import { Agent, type Dispatcher } from 'undici'
import { type ExchangeAnswer, type ExchangeLimits, exchange, type WatchExchange } from '../exchange.ts'
import type { RouteCall } from '../ports.ts'

/** Pooled connections to the seller's backend. Every call goes to the configured origin, whatever its path is. */
export interface BackendPool {
  /** The path as the backend sees it: with the base URL's own path in front. */
  pathOf(call: Pick<RouteCall, 'path'>): string
  /** The whole answer. Never follows a redirect. */
  ask(
    call: RouteCall,
    headers: Record<string, string>,
    limits: ExchangeLimits,
    watch?: WatchExchange,
  ): Promise<ExchangeAnswer>
  /** The answer as a stream. Never follows a redirect. */
  send(
    call: RouteCall,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData>
  /** Streams in progress. One signal shared by all calls would leak memory for each of them. */
  readonly streams: Set<AbortController>
  /** Ends the streams, which may be endless. Paid calls in flight may finish within their timeout. */
  close(): Promise<void>
}

const PLAIN = /^(\/[\w-]+)+(\?[\w=&-]*)?$/

export function createBackendPool({
  baseUrl,
  timeoutMs,
}: {
  baseUrl: string
  timeoutMs: number
}): BackendPool {
  const { origin, pathname } = new URL(baseUrl)
  const basePath = pathname.replace(/\/+$/, '')
  const streams = new Set<AbortController>()
  const agent = new Agent({
    connections: 128,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connectTimeout: timeoutMs,
  })
  function checkedPath(call: RouteCall): string {
    const path = pool.pathOf(call)
    // Nothing in it that a parser would change: most paths.
    if (PLAIN.test(path)) return path
    const url = new URL(path, origin)
    if (url.origin !== origin || `${url.pathname}${url.search}` !== path) {
      throw new TypeError('the path leads away from the backend')
    }
    return path
  }

  const pool: BackendPool = {
    streams,
    pathOf: ({ path }) => `${basePath}${path}`,
    async ask(call, headers, limits, watch) {
      const { method, body } = call
      return exchange(agent, { origin, path: checkedPath(call), method, headers, body }, limits, watch)
    },
    async send(call, headers, signal) {
      const { method, body } = call
      const path = checkedPath(call)
      // `method` is one of HTTP_METHODS or was accepted by node's parser; undici's type lists only the usual ones.
      return agent.request({ origin, path, method: method as 'GET', headers, body, signal })
    },
    async close() {
      for (const stream of streams) stream.abort()
      await agent.close()
    },
  }
  return pool
}
