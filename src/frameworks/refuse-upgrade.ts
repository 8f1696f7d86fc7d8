import type { IncomingHttpHeaders } from 'node:http'
import { faultResponse } from './fault-response.ts'

/**
 * Refuses a request for a WebSocket before anybody pays for it: it is over when the call is, and no adapter would see how it ended. Other
 * upgrades, such as h2c, are offers that a server may leave alone.
 */
export function refuseUpgrade(headers: IncomingHttpHeaders): Response | undefined {
  if (!/\bwebsocket\b/i.test(headers.upgrade ?? '')) return undefined
  const message =
    'a call of this route is one request and one answer, so it opens no WebSocket. Whoever sells one sells a plan for it, and lets its buyers in by requireAccess.'
  return faultResponse(400, 'INVALID_REQUEST', message, headers)
}
