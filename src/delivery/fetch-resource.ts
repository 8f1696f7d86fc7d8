import type { Alerts, Backend, FetchResource, Forwarded, Order, ResourceAnswer, RouteCall } from '../ports.ts'
import type { SvcPayment } from '../protocol/access.ts'
import { bytesOf } from './backend-answer.ts'
import { type BackendOptions, type CallResult, createBackend, noAnswer } from './create-backend.ts'
import { connectionHeaders, HOP_BY_HOP } from './hop-by-hop.ts'
import { inTime, tookTooLong } from './in-time.ts'
import { forwardedHeaders, unconditional } from './payment-headers.ts'
import { rawHeaders } from './response-headers.ts'
import { OVERRIDES_HEADER } from './stated-charge.ts'
import { letOut } from './stream-answer.ts'

const WHO = 'fetchResource'

export interface CallbackBackendConfig extends BackendOptions {
  fetchResource: FetchResource
  timeoutMs: number
  maxBytes: number
  /** Passes on what a proxy in front says about the client. Default false. */
  trustProxy?: boolean
  alerts: Alerts
}

/** The seller's own function in place of an HTTP backend. Its errors are shown to the operator, not to the buyer. */
export function createCallbackBackend(config: CallbackBackendConfig): Backend {
  const answerCall = (order: Order, call: RouteCall): Promise<CallResult> =>
    within(config, `challenge ${order.challengeId}`, noAnswer, async (isLate) => {
      const payment = paymentOf(order, config.explorerTxUrl(order.network))
      const answer = toResponse(await ask(config, order.itemId, call, payment))
      // The call has timed out already; an unread body could keep a connection open.
      if (isLate()) await answer.body?.cancel()
      const { status } = answer
      const headers = rawHeaders(Object.fromEntries(answer.headers), (location) => location)
      const onChunk = isLate() ? undefined : letOut(call.stream, order.challengeId, { status, headers })
      const bytes = answer.body ? await bytesOf(answer.body, config.maxBytes, onChunk) : Buffer.alloc(0)
      if (bytes === undefined) return noAnswer(502, `the answer exceeds ${config.maxBytes} bytes`)
      return {
        raw: { status, headers, body: bytes },
        overrides: answer.headers.get(OVERRIDES_HEADER) ?? undefined,
      }
    })
  return createBackend(answerCall, config)
}

/** The function's answer to a call of a free route. */
export function forwardToCallback(
  config: Pick<CallbackBackendConfig, 'fetchResource' | 'timeoutMs' | 'trustProxy' | 'alerts'>,
  routeId: string,
  call: RouteCall,
): Promise<Forwarded> {
  const failed = (status: 502 | 504, reason: string): Forwarded => ({ status, reason })
  return within(config, `route ${routeId}`, failed, async () =>
    withPlainBody(toResponse(await ask(config, routeId, call, null))),
  )
}

/** What `fetch` answers is decoded and still has the headers of the bytes that came, and of the connection that they came by. */
function withPlainBody({ status, statusText, headers: given, body }: Response): Response {
  const named = connectionHeaders(given.get('connection') ?? undefined)
  const dropped = new Set([...HOP_BY_HOP, ...named, 'content-encoding', 'content-length'])
  const headers = [...given].filter(([name]) => !dropped.has(name))
  return new Response(body, { status, statusText, headers })
}

function ask(
  { fetchResource, trustProxy }: Pick<CallbackBackendConfig, 'fetchResource' | 'trustProxy'>,
  routeId: string,
  { method, path, headers, body }: RouteCall,
  payment: SvcPayment | null,
) {
  const passed = forwardedHeaders(headers, trustProxy)
  return fetchResource({
    routeId,
    method,
    path,
    headers: payment ? unconditional(method, passed) : passed,
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
  let isLate = false
  const answered = (async () => work(() => isLate))().catch((error: unknown) => {
    const words = error instanceof Error ? `${error.name}: ${error.message}` : 'something that is no Error'
    alerts.raise('delivery-failed', `${what}: ${WHO} threw ${words}`)
    return failed(502, `${WHO} failed`)
  })
  return inTime(answered, timeoutMs, () => {
    isLate = true
    return failed(504, tookTooLong(WHO, timeoutMs))
  })
}

/** Throws if it is not an answer: functions without types may return anything. */
function toResponse(answer: ResourceAnswer): Response {
  if (answer instanceof Response) return answer
  // Some frameworks have a Response class of their own.
  if (typeof answer === 'object' && answer !== null && 'headers' in answer && 'arrayBuffer' in answer) {
    const { status, headers, body } = answer as Response
    return new Response(body, { status, headers: [...headers] })
  }
  const { status, body, contentType } = (answer ?? {}) as Exclude<ResourceAnswer, Response>
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new TypeError('the answer has no status from 200 to 599')
  const [bytes, standard] = bytesAndType(body)
  const type = contentType ?? standard
  // With 204 and 304 the Fetch standard refuses even an empty body.
  const sent = bytes === null || bytes.length === 0 || status === 204 || status === 304 ? null : bytes
  return new Response(sent, { status, headers: type === undefined ? {} : { 'content-type': type } })
}

function bytesAndType(body: unknown): [Buffer | null, string | undefined] {
  if (body === undefined || body === null) return [null, undefined]
  if (typeof body === 'string') return [Buffer.from(body), 'text/plain; charset=utf-8']
  if (body instanceof Uint8Array) return [Buffer.from(body), 'application/octet-stream']
  return [Buffer.from(JSON.stringify(body)), 'application/json']
}

/** A call as the seller's code sees it. */
export function paymentOf(order: Order, explorerTxUrl: string): SvcPayment {
  const { prepaid } = order
  return {
    txHash: order.txHash,
    explorerUrl: order.txHash && `${explorerTxUrl}${order.txHash}`,
    payer: order.payer,
    amount: order.amount,
    network: order.network,
    routeId: order.itemId,
    challengeId: order.challengeId,
    requestId: order.requestId,
    ...(prepaid && {
      planId: prepaid.planId,
      credits: { planId: prepaid.planId, charged: prepaid.credits, remaining: prepaid.remaining },
    }),
  }
}
