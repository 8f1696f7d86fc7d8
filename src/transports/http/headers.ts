import type { RefundNotice } from '../../protocol/access.ts'
import { OF_ONE_BUYER } from '../../protocol/caching-headers.ts'

const EXPOSED = [
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'Payment-Receipt',
  'WWW-Authenticate',
  'Retry-After',
  'x-svc-code',
  'x-svc-receipt-url',
  'x-svc-refund',
  'x-svc-refund-when',
  'x-svc-status-url',
  'x-svc-credits-charged',
  'x-svc-credits-remaining',
].join(', ')

// The official client sends Access-Control-Expose-Headers as a request header: browsers then ask leave for it.
const ALLOWED = [
  'PAYMENT-SIGNATURE',
  'Authorization',
  'Payment-Authorization',
  'Accept-Payment',
  'SIGN-IN-WITH-X',
  'Content-Type',
  'Accept',
  'Idempotency-Key',
  'Mcp-Session-Id',
  'Mcp-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Last-Event-ID',
  'X-A2A-Extensions',
  'A2A-Extensions',
  'A2A-Version',
  'Access-Control-Expose-Headers',
].join(', ')

/** Any origin, never credentials: nothing here is guarded by a cookie. */
export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED,
} as const

export const PREFLIGHT_HEADERS = {
  ...CORS_HEADERS,
  'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
  'access-control-allow-headers': ALLOWED,
  'access-control-max-age': '7200',
} as const

/** Routes may take any method, and headers of the seller's own. The star does not cover Authorization, hence both. */
export const ROUTE_PREFLIGHT_HEADERS = {
  ...PREFLIGHT_HEADERS,
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
  'access-control-allow-headers': `${ALLOWED}, *`,
} as const

export const JSON_HEADERS = { ...CORS_HEADERS, 'content-type': 'application/json' } as const

/** A challenge or a failure: true for this moment only. */
export const UNPAID_HEADERS = { ...JSON_HEADERS, 'cache-control': 'no-store' } as const

/** Belongs to one buyer: a shared cache that kept it would hand a credential to the next one. */
export const PAID_HEADERS = { ...JSON_HEADERS, 'cache-control': OF_ONE_BUYER } as const

/** What an answer says that is paid and no delivery, whoever wrote its body; nothing for a delivery. */
export function undeliveredHeaders({ refund, statusUrl }: Partial<RefundNotice>): Record<string, string> {
  if (!refund || statusUrl === undefined) return {}
  return {
    'x-svc-code': 'DELIVERY_FAILED',
    'x-svc-refund': refund.state,
    'x-svc-refund-when': refund.when,
    'x-svc-status-url': statusUrl,
  }
}

/** What the answer to a metered call says that failed and was not charged; nothing for any other. */
export function unchargedHeaders({ failure }: { failure?: string | undefined }): Record<string, string> {
  return failure === undefined ? {} : { 'x-svc-code': 'CALL_FAILED' }
}
