import { createHmac } from 'node:crypto'
import type { Order } from '../ports.ts'
import { withoutOperatorCookie } from '../protocol/operator-cookie.ts'

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

/** Frameworks obey these, whoever wrote them: the call that was paid would become another one. */
const OTHER_CALL = /^x-(http-method(-override)?|method-override|original-(url|uri|path|method)|rewrite-.+)$/

/** What a proxy in front says of the client. A backend believes it, and unless there is such a proxy the client wrote it. */
const OF_A_PROXY =
  /^(forwarded|x-forwarded-.+|x-original-.+|x-host|x-real-ip|(x-)?remote-(addr|ip|user)|(.+-)?client-?ip|cf-connecting-(ip|ipv6))$/

/** The client's headers as a backend may see them: `x-svc-*` are only ever ours. */
export function forwardedHeaders(
  headers: Readonly<Record<string, string>>,
  trustProxy = false,
): Record<string, string> {
  const lower = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value])
  const named = new Set(listed(lower.find(([name]) => name === 'connection')?.[1]))
  const { cookie, ...forwarded } = Object.fromEntries(
    lower.filter(([name]) => {
      // CGI and WSGI read x_svc_payer and x-svc-payer as one and the same variable.
      const spelled = name.replaceAll('_', '-')
      if (STRIPPED.has(spelled) || spelled.startsWith('x-svc-') || named.has(name)) return false
      return !OTHER_CALL.test(spelled) && (trustProxy || !OF_A_PROXY.test(spelled))
    }),
  )
  const cookies = cookie === undefined ? undefined : withoutOperatorCookie(cookie)
  return { ...forwarded, ...(cookies !== undefined && { cookie: cookies }) }
}

/** The names in a `connection` header. */
export function listed(value = ''): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
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

export interface SignedCall {
  method: string
  /** With query, as the backend receives it. */
  path: string
  challengeId: string
  txHash: string
}

/**
 * Proves to the backend that the call came through the gateway: `t=<unix>,v1=<hex HMAC-SHA256>` over
 * `t.method.path.challengeId.txHash`.
 */
export function callSignature(secret: string, call: SignedCall, nowMs: number): string {
  const t = Math.floor(nowMs / 1000)
  const text = [t, call.method, call.path, call.challengeId, call.txHash].join('.')
  return `t=${t},v1=${createHmac('sha256', secret).update(text).digest('hex')}`
}

/** Nothing without a secret. */
export function signatureHeader(
  secret: string | null,
  call: SignedCall,
  nowMs: number,
): Record<string, string> {
  return secret === null ? {} : { 'x-svc-signature': callSignature(secret, call, nowMs) }
}
