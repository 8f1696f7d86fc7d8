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

/** Names that were judged before, since nearly all requests have the same few. Saves four regular expressions per header. */
const judged = new Map<string, 'never' | 'of-a-proxy' | 'passes'>()
const MAX_JUDGED = 500

/** `name` is in lower case. */
function judge(name: string): 'never' | 'of-a-proxy' | 'passes' {
  const known = judged.get(name)
  if (known) return known
  // CGI and WSGI treat x_svc_payer and x-svc-payer as the same variable.
  const spelled = name.replaceAll('_', '-')
  const isStripped = STRIPPED.has(spelled) || spelled.startsWith('x-svc-') || OTHER_CALL.test(spelled)
  const verdict = isStripped ? 'never' : OF_A_PROXY.test(spelled) ? 'of-a-proxy' : 'passes'
  // Clients choose the names.
  if (judged.size >= MAX_JUDGED) judged.clear()
  judged.set(name, verdict)
  return verdict
}

/** The client's headers that the backend may see. `x-svc-*` headers are set by the gateway only. */
export function forwardedHeaders(
  headers: Readonly<Record<string, string>>,
  trustProxy = false,
): Record<string, string> {
  const forwarded: Record<string, string> = {}
  let connection: string | undefined
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase()
    if (name === 'connection') connection ??= value
    const verdict = judge(name)
    if (verdict === 'never' || (verdict === 'of-a-proxy' && !trustProxy)) continue
    // An MPP credential is as good as money; a token of the seller's own passes.
    if (name === 'authorization' && hasPaymentScheme(value)) continue
    const kept = name === 'cookie' ? withoutOperatorCookie(value) : value
    if (kept !== undefined) forwarded[name] = kept
  }
  if (connection !== undefined) for (const name of connectionHeaders(connection)) delete forwarded[name]
  return forwarded
}

/** Removes conditions from a paid GET: "304, not modified" would be a failed delivery and be refunded. */
export function unconditional(method: string, headers: Record<string, string>): Record<string, string> {
  if (method !== 'GET') return headers
  const { 'if-none-match': _tag, 'if-modified-since': _time, ...rest } = headers
  return rest
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
