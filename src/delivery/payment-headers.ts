import { createHmac } from 'node:crypto'
import type { Order } from '../ports.ts'
import { withoutOperatorCookie } from '../protocol/operator-cookie.ts'
import { hasPaymentScheme } from '../protocol/payment-scheme.ts'
import { connectionHeaders, HOP_BY_HOP } from './hop-by-hop.ts'

/** Headers that belong to one connection, or that the gateway sets itself: the backend never gets the client's. */
const STRIPPED = new Set([
  ...HOP_BY_HOP,
  'accept-encoding',
  'content-length',
  'expect',
  'host',
  'payment-authorization',
  'payment-signature',
  'proxy-authorization',
  'sign-in-with-x',
  'x-payment',
])

/** Headers with which a client can make frameworks run another call than the one that was paid. */
const OTHER_CALL = /^x-(http-method(-override)?|method-override|original-(url|uri|path|method)|rewrite-.+)$/

/** Headers in which a proxy describes the client. Backends trust them, so without a trusted proxy they are removed. */
const OF_A_PROXY =
  /^(forwarded|x-forwarded-.+|x-original-.+|x-host|x-real-ip|(x-)?remote-(addr|ip|user)|(.+-)?client-?ip|cf-connecting-(ip|ipv6))$/

/** The client's headers that the backend may see. `x-svc-*` headers are set by the gateway only. */
export function forwardedHeaders(
  headers: Readonly<Record<string, string>>,
  trustProxy = false,
): Record<string, string> {
  const lower = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value])
  const named = connectionHeaders(lower.find(([name]) => name === 'connection')?.[1])
  const { cookie, ...forwarded } = Object.fromEntries(
    lower.filter(([name, value]) => {
      // CGI and WSGI treat x_svc_payer and x-svc-payer as the same variable.
      const spelled = name.replaceAll('_', '-')
      if (STRIPPED.has(spelled) || spelled.startsWith('x-svc-') || named.has(name)) return false
      // An MPP credential is as good as money; a token of the seller's own passes.
      if (spelled === 'authorization' && hasPaymentScheme(value)) return false
      return !OTHER_CALL.test(spelled) && (trustProxy || !OF_A_PROXY.test(spelled))
    }),
  )
  const cookies = cookie === undefined ? undefined : withoutOperatorCookie(cookie)
  return { ...forwarded, ...(cookies !== undefined && { cookie: cookies }) }
}

/** Tells the backend about the payment. */
export function paymentHeaders(order: Order): Record<string, string> {
  const { prepaid } = order
  return {
    'x-svc-tx-hash': order.txHash,
    'x-svc-plan-id': prepaid?.planId ?? order.itemId,
    'x-svc-route-id': order.itemId,
    'x-svc-challenge-id': order.challengeId,
    'x-svc-request-id': order.requestId,
    ...(prepaid ? { 'x-svc-credits': String(prepaid.credits) } : { 'x-svc-amount': order.amount }),
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

/** Empty if no secret is set. */
export function signatureHeader(
  secret: string | null,
  call: SignedCall,
  nowMs: number,
): Record<string, string> {
  return secret === null ? {} : { 'x-svc-signature': callSignature(secret, call, nowMs) }
}
