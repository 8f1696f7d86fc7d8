import { Agent, request } from 'undici'
import type { Backend, Called, Order, RouteCall } from '../ports.ts'
import type { BackendAnswer, ResourceResponse } from '../protocol/access.ts'
import { callSignature, forwardedHeaders, paymentHeaders } from './payment-headers.ts'
import type { Seal } from './seal.ts'

export interface BackendConfig {
  /** PROXY_TO_BASE_URL: the route's path is appended. */
  baseUrl: string
  /** PROXY_SECRET: signs each call. */
  secret: string | null
  timeoutMs: number
  /** MAX_RESOURCE_BYTES. More is a failed delivery: it could not be kept for a retry. */
  maxBytes: number
  explorerTxUrl: string
  seal: Seal
}

/** What a paid call came to, before it is dressed as a ResourceResponse. */
export type Answered = { answer: BackendAnswer; failure?: string }

/** The seller's API over HTTP: pooled connections, no redirects followed, every limit enforced. */
export function createHttpBackend(config: BackendConfig): Backend & { close(): Promise<void> } {
  const { timeoutMs } = config
  const agent = new Agent({
    connections: 128,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connectTimeout: timeoutMs,
  })
  const dressed = dressedBackend((order, call) => callHttp(order, call, config, agent), config)
  return { ...dressed, close: () => agent.close() }
}

/** Makes a Backend of whatever answers calls: an HTTP server, or the seller's own function. */
export function dressedBackend(
  answerCall: (order: Order, call: RouteCall) => Promise<Answered>,
  { seal, explorerTxUrl }: Pick<BackendConfig, 'seal' | 'explorerTxUrl'>,
): Backend {
  const dress = (order: Order, resource: BackendAnswer): ResourceResponse => ({
    type: 'ResourceResponse',
    challengeId: order.challengeId,
    requestId: order.requestId,
    routeId: order.itemId,
    txHash: order.txHash,
    explorerUrl: `${explorerTxUrl}${order.txHash}`,
    resource,
  })
  return {
    async call(order, call): Promise<Called> {
      const { answer, failure } = await answerCall(order, call)
      const response = dress(order, answer)
      const good = answer.status >= 200 && answer.status < 300
      if (failure !== undefined || !good)
        return { ok: false, response, reason: failure ?? `the backend answered ${answer.status}` }
      return { ok: true, response, sealed: seal.seal(answer, order.challengeId) }
    },
    async open(order, sealed) {
      const answer = seal.open(sealed, order.challengeId)
      return answer === undefined ? undefined : dress(order, answer as BackendAnswer)
    },
  }
}

/** A failure without an answer of the backend's own still gets a status that says whose fault it was. */
export function noAnswer(status: 502 | 504, failure: string): Answered {
  return { answer: { status, body: { error: failure } }, failure }
}

async function callHttp(
  order: Order,
  call: RouteCall,
  config: BackendConfig,
  agent: Agent,
): Promise<Answered> {
  const { origin, pathname } = new URL(config.baseUrl)
  const path = `${pathname.replace(/\/+$/, '')}${call.path}`
  // Whatever the path says, the call goes to the configured origin or nowhere.
  if (new URL(path, origin).origin !== origin) return noAnswer(502, 'the path leads away from the backend')
  const signature =
    config.secret === null ? {} : { 'x-svc-signature': callSignature(config.secret, call, order, Date.now()) }
  const deadline = AbortSignal.timeout(config.timeoutMs)
  try {
    const response = await request(`${origin}${path}`, {
      dispatcher: agent,
      method: call.method as 'GET',
      headers: {
        ...forwardedHeaders(call.headers),
        'accept-encoding': 'identity',
        ...paymentHeaders(order),
        ...signature,
      },
      body: call.body,
      signal: deadline,
    })
    const bytes = await readCapped(response.body, config.maxBytes)
    if (bytes === undefined) return noAnswer(502, `the backend's answer exceeds ${config.maxBytes} bytes`)
    const contentType = headerOf(response.headers['content-type'])
    return { answer: answerOf(response.statusCode, contentType, bytes) }
  } catch {
    if (deadline.aborted)
      return noAnswer(504, `the backend did not answer within ${config.timeoutMs / 1000} s`)
    return noAnswer(502, 'the backend cannot be reached')
  }
}

const headerOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value

async function readCapped(
  body: AsyncIterable<Uint8Array> & { destroy(): unknown },
  maxBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) {
      body.destroy()
      return undefined
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** JSON stays JSON and text stays text; everything else survives as base64. */
export function answerOf(status: number, contentType: string | undefined, bytes: Buffer): BackendAnswer {
  const typed = contentType === undefined ? {} : { contentType }
  if (bytes.length === 0) return { status, body: null, ...typed }
  const essence = contentType?.split(';')[0]!.trim().toLowerCase() ?? ''
  const json = essence === 'application/json' || essence.endsWith('+json')
  if (json || essence.startsWith('text/')) {
    const text = utf8(bytes)
    if (text !== undefined) {
      const value = json ? parsed(text) : { value: text }
      if (value) return { status, body: value.value, ...typed }
    }
  }
  return { status, body: bytes.toString('base64'), encoding: 'base64', ...typed }
}

function utf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}
