import type { Backend, Order, RouteCall } from '../ports.ts'
import { answerOf, bytesOf, decodeContent } from './backend-answer.ts'
import type { BackendPool } from './backend-pool.ts'
import { type Answered, type Dress, dressedBackend, noAnswer } from './dressed-backend.ts'
import { forwardedHeaders, paymentHeaders, signatureHeader } from './payment-headers.ts'

export interface HttpBackendConfig extends Dress {
  pool: BackendPool
  /** PROXY_SECRET: signs each call. */
  secret: string | null
  /** For the whole call. */
  timeoutMs: number
  /** MAX_RESOURCE_BYTES. More is a failed delivery: it could not be kept for a retry. */
  maxBytes: number
}

/** The seller's API over HTTP: no redirects followed, every limit enforced. */
export function createHttpBackend(config: HttpBackendConfig): Backend {
  return dressedBackend((order, call) => callHttp(order, call, config), config)
}

async function callHttp(order: Order, call: RouteCall, config: HttpBackendConfig): Promise<Answered> {
  const { pool, secret, maxBytes, timeoutMs } = config
  const deadline = AbortSignal.timeout(timeoutMs)
  const { challengeId, txHash } = order
  const signed = { method: call.method, path: pool.pathOf(call), challengeId, txHash }
  const headers = {
    ...unconditional(call.method, forwardedHeaders(call.headers)),
    'accept-encoding': 'identity',
    ...paymentHeaders(order),
    ...signatureHeader(secret, signed, Date.now()),
  }
  try {
    const response = await pool.send(call, headers, deadline)
    const tooLarge = noAnswer(502, `the backend's answer exceeds ${maxBytes} bytes, or cannot be decoded`)
    const bytes = await bytesOf(response.body, maxBytes)
    if (bytes === undefined) return tooLarge
    const plain = await decodeContent(bytes, headerOf(response.headers['content-encoding']) ?? '', maxBytes)
    if (plain === undefined) return tooLarge
    return { answer: answerOf(response.statusCode, headerOf(response.headers['content-type']), plain) }
  } catch {
    if (deadline.aborted) return noAnswer(504, `the backend did not answer within ${timeoutMs / 1000} s`)
    return noAnswer(502, 'the backend cannot be reached')
  }
}

const headerOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value

/** A paid read buys the content: "304, not modified" would be a failed delivery, and a refund. */
function unconditional(method: string, headers: Record<string, string>): Record<string, string> {
  if (method !== 'GET') return headers
  const { 'if-none-match': _tag, 'if-modified-since': _time, ...rest } = headers
  return rest
}
