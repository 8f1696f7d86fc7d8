import { randomUUID } from 'node:crypto'
import { paymentOfMessage, STATUS_KEY } from '../../dialects/a2a-metadata.ts'
import type { X402 } from '../../dialects/x402/create-x402.ts'
import type { Countable } from '../http/admit.ts'
import { proofInParts } from './transfer-proof.ts'

export type RpcRequest = {
  jsonrpc: '2.0'
  id?: string | number | null
  method: string
  params?: unknown
}

export type RpcParse = RpcRequest | { fault: string; code: number; id: string | number | null }

export const RPC = {
  parse: -32700,
  request: -32600,
  params: -32602,
  internal: -32603,
  server: -32000,
} as const

/** One JSON-RPC 2.0 request; batches are not part of A2A. */
export function parseRpc(text: string): RpcParse {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { fault: 'the body is not valid JSON; expected a JSON-RPC 2.0 request', code: RPC.parse, id: null }
  }
  if (!isRecord(value)) return invalid('the body is no object', null)
  const { id = null, jsonrpc, method } = value
  if (id !== null && typeof id !== 'string' && !Number.isInteger(id)) {
    return invalid('id is neither a text nor an integer', null)
  }
  const known = id as string | number | null
  if (jsonrpc !== '2.0') return invalid('jsonrpc is not "2.0"', known)
  if (typeof method !== 'string' || method === '') return invalid('method is missing', known)
  return value as unknown as RpcRequest
}

const SENDS = new Set(['message/send', 'message/stream', 'SendMessage', 'SendStreamingMessage'])

/**
 * The payment that it carries, or the proof of a transfer. Those are limited where they fail; whatever merely looks like
 * one is none.
 */
export function paymentIn(x402: X402, { method, params }: RpcRequest): Countable | undefined {
  if (!SENDS.has(method) || !isRecord(params) || !isRecord(params.message)) return undefined
  const { metadata, parts } = params.message
  if (!isRecord(metadata)) return proofInParts(parts)
  if (metadata[STATUS_KEY] === 'payment-rejected') return undefined
  const found = paymentOfMessage(x402, metadata)
  return found && !('fault' in found) ? found : proofInParts(parts)
}

/**
 * What 0.3 leaves open, and servers of it take: a message without id and role is the user's, and a configuration that
 * does not say `blocking: false` waits.
 */
export function withDefaults(request: RpcRequest): RpcRequest {
  const { params } = request
  if (!isRecord(params)) return request
  const { message, configuration } = params
  return {
    ...request,
    params: {
      ...params,
      ...(isRecord(message) && { message: { messageId: randomUUID(), role: 'user', ...message } }),
      ...(isRecord(configuration) && { configuration: { blocking: true, ...configuration } }),
    },
  }
}

function invalid(fault: string, id: string | number | null) {
  const good = '{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {…}}}'
  return { fault: `${fault}; expected one JSON-RPC 2.0 request such as ${good}`, code: RPC.request, id }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
