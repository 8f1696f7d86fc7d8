import { createHmac } from 'node:crypto'
import type { Order } from '../ports.ts'

/** Of one connection, or ours to say: they never reach the backend as the client sent them. */
const STRIPPED = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'payment-signature',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-payment',
])

/** The client's headers as a backend may see them: `x-svc-*` are only ever ours. */
export function forwardedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const named = (headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  return Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]): [string, string] => [name.toLowerCase(), value])
      .filter(([name]) => !STRIPPED.has(name) && !name.startsWith('x-svc-') && !named.includes(name)),
  )
}

/** What the backend learns of the payment. */
export function paymentHeaders(order: Order): Record<string, string> {
  return {
    'x-svc-tx-hash': order.txHash,
    'x-svc-plan-id': order.itemId,
    'x-svc-route-id': order.itemId,
    'x-svc-challenge-id': order.challengeId,
    'x-svc-request-id': order.requestId,
    'x-svc-amount': order.amount,
    'x-svc-payer': order.payer,
    'x-svc-network': order.network,
  }
}

/**
 * Proves to the backend that the call came through the gateway: `t=<unix>,v1=<hex HMAC-SHA256>` over
 * `t.method.path.challengeId.txHash`, the path with its query.
 */
export function callSignature(
  secret: string,
  call: { method: string; path: string },
  order: Pick<Order, 'challengeId' | 'txHash'>,
  nowMs: number,
): string {
  const t = Math.floor(nowMs / 1000)
  const text = [t, call.method, call.path, order.challengeId, order.txHash].join('.')
  return `t=${t},v1=${createHmac('sha256', secret).update(text).digest('hex')}`
}
