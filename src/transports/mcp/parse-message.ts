/** One JSON-RPC message, as far as we look into it ourselves. */
export interface RpcMessage {
  id?: unknown
  method?: unknown
  params?: unknown
}

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600

/** Reads the body of a POST. Batches left the protocol, and one payment's answer must not wait for another's. */
export function parseMessage(text: string): RpcMessage | { fault: string; code: number } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { fault: 'the body is not valid JSON; send one JSON-RPC 2.0 message', code: PARSE_ERROR }
  }
  if (Array.isArray(value))
    return { fault: 'the body is a JSON-RPC batch; send one message per POST', code: INVALID_REQUEST }
  if (typeof value !== 'object' || value === null)
    return { fault: 'the body is not a JSON object; send one JSON-RPC 2.0 message', code: INVALID_REQUEST }
  return value
}
