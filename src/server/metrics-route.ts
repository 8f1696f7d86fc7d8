import type { Peer } from '../transports/http/safeguards.ts'
import { apiReply } from './api-reply.ts'
import { sameSecret } from './auth/admin-token.ts'
import { type Auth, bearerOf } from './auth/create-auth.ts'

const HEADERS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' }

export interface MetricsParts {
  text(): Promise<string>
  token(): string | null
  auth: Pick<Auth, 'refuse'>
}

/** `/metrics` on the public port: needs METRICS_TOKEN, ADMIN_TOKEN or a login. */
export function createMetricsRoute(parts: MetricsParts): (request: Request, peer: Peer) => Promise<Response> {
  return async (request, peer) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return apiReply(405, { error: 'Only GET is possible here.' }, { allow: 'GET, HEAD' })
    }
    const bearer = bearerOf(request)
    const token = parts.token()
    const allowed = bearer !== undefined && token !== null && sameSecret(bearer, token)
    return (allowed ? undefined : parts.auth.refuse(request, peer)) ?? metricsReply(parts.text)
  }
}

/** `/metrics` on a port of its own, without a token: the operator keeps that port private. */
export function createMetricsHandler(text: () => Promise<string>): (request: Request) => Promise<Response> {
  return async (request) => {
    if (new URL(request.url).pathname === '/metrics' && request.method === 'GET') return metricsReply(text)
    return apiReply(404, { error: 'There is GET /metrics only.' })
  }
}

async function metricsReply(text: () => Promise<string>): Promise<Response> {
  return new Response(await text(), { headers: HEADERS })
}
