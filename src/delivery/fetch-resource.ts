import type { Alerts, Backend, FetchResource, Order, ResourceAnswer, RouteCall } from '../ports.ts'
import type { SvcPayment } from '../protocol/access.ts'
import { bytesOf } from './backend-answer.ts'
import { type Answered, type Dress, dressedBackend, noAnswer } from './dressed-backend.ts'
import type { Forwarded } from './forward.ts'
import { forwardedHeaders } from './payment-headers.ts'
import { rawHeaders } from './response-headers.ts'

const WHO = 'fetchResource'

export interface CallbackBackendConfig extends Dress {
  fetchResource: FetchResource
  timeoutMs: number
  maxBytes: number
  /** What a proxy in front says of the client is passed on. Default false. */
  trustProxy?: boolean
  alerts: Alerts
}

/** The seller's own function in place of an HTTP backend. What it throws is for the operator, not for the buyer. */
export function createCallbackBackend(config: CallbackBackendConfig): Backend {
  const answerCall = (order: Order, call: RouteCall): Promise<Answered> =>
    within(config, `challenge ${order.challengeId}`, noAnswer, async (isLate) => {
      const payment = paymentOf(order, config.explorerTxUrl)
      const answer = toResponse(await ask(config, order.itemId, call, payment))
      // Nobody waits any more: a body that is left half read could hold a connection.
      if (isLate()) await answer.body?.cancel()
      const bytes = answer.body ? await bytesOf(answer.body, config.maxBytes) : Buffer.alloc(0)
      if (bytes === undefined) return noAnswer(502, `the answer exceeds ${config.maxBytes} bytes`)
      const headers = rawHeaders(Object.fromEntries(answer.headers), (location) => location)
      return { raw: { status: answer.status, headers, body: bytes } }
    })
  return dressedBackend(answerCall, config)
}

/** A free route's answer, as the function gave it. */
export function forwardToCallback(
  config: Pick<CallbackBackendConfig, 'fetchResource' | 'timeoutMs' | 'trustProxy' | 'alerts'>,
  routeId: string,
  call: RouteCall,
): Promise<Forwarded> {
  const failed = (status: 502 | 504, reason: string): Forwarded => ({ status, reason })
  return within(config, `route ${routeId}`, failed, async () =>
    toResponse(await ask(config, routeId, call, null)),
  )
}

function ask(
  { fetchResource, trustProxy }: Pick<CallbackBackendConfig, 'fetchResource' | 'trustProxy'>,
  routeId: string,
  { method, path, headers, body }: RouteCall,
  payment: SvcPayment | null,
) {
  return fetchResource({
    routeId,
    method,
    path,
    headers: forwardedHeaders(headers, trustProxy),
    body,
    payment,
  })
}

/** Runs seller code that may hang or throw. */
async function within<T>(
  { timeoutMs, alerts }: Pick<CallbackBackendConfig, 'timeoutMs' | 'alerts'>,
  what: string,
  failed: (status: 502 | 504, reason: string) => T,
  work: (isLate: () => boolean) => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let isLate = false
  const late = new Promise<T>((resolve) => {
    timer = setTimeout(() => {
      isLate = true
      resolve(failed(504, `${WHO} did not answer within ${timeoutMs / 1000} s`))
    }, timeoutMs)
  })
  const answered = (async () => work(() => isLate))().catch((error: unknown) => {
    const words = error instanceof Error ? `${error.name}: ${error.message}` : 'something that is no Error'
    alerts.raise('delivery-failed', `${what}: ${WHO} threw ${words}`)
    return failed(502, `${WHO} failed`)
  })
  try {
    return await Promise.race([answered, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Throws for what is no answer; callers without types give anything. */
function toResponse(answer: ResourceAnswer): Response {
  if (answer instanceof Response) return answer
  // Frameworks bring Response classes of their own.
  if (typeof answer === 'object' && answer !== null && 'headers' in answer && 'arrayBuffer' in answer) {
    const { status, headers, body } = answer as Response
    return new Response(body, { status, headers: [...headers] })
  }
  const { status, body, contentType } = (answer ?? {}) as Exclude<ResourceAnswer, Response>
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new TypeError('the answer has no status from 200 to 599')
  const [bytes, standard] = bytesAndType(body)
  const type = contentType ?? standard
  // The Fetch standard refuses even an empty body there.
  const sent = bytes === null || bytes.length === 0 || status === 204 || status === 304 ? null : bytes
  return new Response(sent, { status, headers: type === undefined ? {} : { 'content-type': type } })
}

function bytesAndType(body: unknown): [Buffer | null, string | undefined] {
  if (body === undefined || body === null) return [null, undefined]
  if (typeof body === 'string') return [Buffer.from(body), 'text/plain; charset=utf-8']
  if (body instanceof Uint8Array) return [Buffer.from(body), 'application/octet-stream']
  return [Buffer.from(JSON.stringify(body)), 'application/json']
}

function paymentOf(order: Order, explorerTxUrl: string): SvcPayment {
  return {
    txHash: order.txHash,
    explorerUrl: `${explorerTxUrl}${order.txHash}`,
    payer: order.payer,
    amount: order.amount,
    network: order.network,
    routeId: order.itemId,
    challengeId: order.challengeId,
    requestId: order.requestId,
  }
}
