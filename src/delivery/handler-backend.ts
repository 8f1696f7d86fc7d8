import type { Backend, LetOut, Order, RouteCall } from '../ports.ts'
import { decodeContent } from './backend-answer.ts'
import { type BackendOptions, type CallResult, createBackend, noAnswer } from './create-backend.ts'
import { paymentOf } from './fetch-resource.ts'
import { inTime, tookTooLong } from './in-time.ts'
import { rawHeaders } from './response-headers.ts'
import { type ChargeRules, OVERRIDES_HEADER } from './stated-charge.ts'
import { letOut as letOutAnswer } from './stream-answer.ts'

export interface HandlerBackendConfig extends Omit<BackendOptions, 'rawRoutes'> {
  chargeRules: ChargeRules
  /** How long a handler may take. */
  timeoutMs: number
  maxBytes: number
}

/** The seller's own handlers as the backend of metered calls. Their answers go out as they are, and are stored before. */
export function createHandlerBackend(config: HandlerBackendConfig): Backend {
  const { timeoutMs } = config
  const late = () => noAnswer(504, tookTooLong('the handler', timeoutMs))
  const answerCall = (order: Order, call: RouteCall): Promise<CallResult> =>
    inTime(askHandler(order, call, config), timeoutMs, late)
  return createBackend(answerCall, { ...config, rawRoutes: new Set(config.chargeRules.keys()) })
}

async function askHandler(
  order: Order,
  { answer, stream }: RouteCall,
  { explorerTxUrl, maxBytes }: HandlerBackendConfig,
): Promise<CallResult> {
  if (!answer) throw new Error(`route ${order.itemId} has no handler`)
  const letOut: LetOut = (head) =>
    letOutAnswer(stream, order.challengeId, {
      status: head.status,
      headers: rawHeaders(head.headers, (location) => location),
      encoding: [head.headers['content-encoding'] ?? []].flat()[0],
    })
  const { status, headers, body, overrides } = await answer(
    paymentOf(order, explorerTxUrl(order.network)),
    stream && letOut,
  )
  const header = (name: string): string | undefined => [headers[name] ?? []].flat()[0]
  const tooLarge = `the handler's answer exceeds ${maxBytes} bytes, or cannot be decoded`
  if (body.length > maxBytes) return noAnswer(502, tooLarge)
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  const plain = await decodeContent(bytes, header('content-encoding') ?? '', maxBytes)
  if (plain === undefined) return noAnswer(502, tooLarge)
  return {
    raw: { status, headers: rawHeaders(headers, (location) => location), body: plain },
    overrides: overrides ?? header(OVERRIDES_HEADER),
  }
}
