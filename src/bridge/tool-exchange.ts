import type { CallToolResult } from '@modelcontextprotocol/client'
import { findOffer, type RawOffer } from '../buyer/read-offer.ts'
import { decodeJsonObject, encodeJson } from '../protocol/base64.ts'
import { ERROR_CODES, type ErrorBody } from '../protocol/error-codes.ts'
import { PAYMENT_KEY, RECEIPT_KEY, TERMS_KEY } from '../protocol/mcp-payment-keys.ts'
import { isAnswer, type McpConnections } from './mcp-connections.ts'

/** JSON-RPC: the request itself is wrong, and would be again. */
const WRONG_REQUEST = [-32600, -32601, -32602]

/**
 * A call of a paid tool as the buyer understands it, an HTTP exchange: terms are a 402, the payment travels in `_meta`, and
 * an outcome that is not known is a 503. All other requests go to `fetchOnce`.
 */
export function toolFetch(
  connections: McpConnections,
  { url, tool, args }: { url: string; tool: string; args: Record<string, unknown> },
  fetchOnce: typeof fetch = fetch,
): typeof fetch {
  return async (input, init) => {
    if (String(input) !== url || init?.method !== 'POST') return fetchOnce(input, init)
    const signature = new Headers(init.headers).get('payment-signature')
    const payment = signature === null ? undefined : decodeJsonObject(signature)
    const meta = payment && { [PAYMENT_KEY]: payment }
    try {
      return asResponse(await connections.call(url, { name: tool, args, meta }, init.signal ?? undefined))
    } catch (error) {
      if (!isAnswer(error) || !WRONG_REQUEST.includes(error.code)) throw error
      return Response.json({ message: error.message }, { status: 400 })
    }
  }
}

/** Where a seller of x402 over MCP says that a call must be paid. */
function termsOf({ isError, _meta, structuredContent, content }: CallToolResult): RawOffer | undefined {
  const read = (value: unknown) => findOffer(null, JSON.stringify(value ?? null))
  const told = read(_meta?.[TERMS_KEY])
  if (told || !isError) return told
  return read(structuredContent) ?? findOffer(null, firstText(content))
}

function asResponse(result: CallToolResult): Response {
  const terms = termsOf(result)
  const receipt = result._meta?.[RECEIPT_KEY]
  if (terms && !isPaid(receipt)) return Response.json(terms, { status: 402 })
  const headers = new Headers({ 'content-type': 'application/json' })
  if (typeof receipt === 'object' && receipt !== null) headers.set('payment-response', encodeJson(receipt))
  const fault = result.isError ? gatewayError(firstText(result.content)) : undefined
  if (!fault) return new Response(JSON.stringify(withoutProtocol(result)), { headers })
  headers.set('x-svc-code', fault.code)
  if (fault.retryAfterSeconds !== undefined) headers.set('retry-after', String(fault.retryAfterSeconds))
  return Response.json(fault, { status: ERROR_CODES[fault.code].httpStatus, headers })
}

/** What the protocol itself said on that connection is not said on the assistant's. */
function withoutProtocol({ _meta = {}, ...result }: CallToolResult): CallToolResult {
  const kept = Object.entries(_meta).filter(([key]) => !key.startsWith('io.modelcontextprotocol/'))
  return { ...result, _meta: Object.fromEntries(kept) }
}

const isPaid = (receipt: unknown): boolean => (receipt as { success?: unknown } | undefined)?.success === true

function firstText(content: CallToolResult['content']): string {
  const [first] = content
  return first?.type === 'text' ? first.text : ''
}

/** The standard error of a gateway of ours; undefined if it is another kind of failure. */
function gatewayError(text: string): ErrorBody | undefined {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body !== 'object' || body === null) return undefined
    const { type, code } = body as Partial<ErrorBody>
    return type === 'Error' && code !== undefined && Object.hasOwn(ERROR_CODES, code)
      ? (body as ErrorBody)
      : undefined
  } catch {
    return undefined
  }
}
