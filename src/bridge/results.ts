import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'
import { cut } from './purchase.ts'

/** Most that an answer may be as JSON. Clients hang up at a message of 10 MiB, and remarks follow the answer. */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024

/** A failure in words, which a model can pass on. */
export function failure(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] }
}

const MAX_REFUSAL = 2000
/** Of a refusal, whose words are the seller's, as much as a model should read. */
export const shortened = (text: string): string => cut(text, MAX_REFUSAL)

/** The same result, with a remark after it. */
export function withRemark(result: CallToolResult, remark: string | undefined): CallToolResult {
  if (remark === undefined) return result
  return { ...result, content: [...result.content, { type: 'text', text: remark }] }
}

/** An answer of HTTP as content of a tool's result; undefined if no message can hold it. */
export function contentOf(
  bytes: Uint8Array,
  contentType: string | null,
  uri: string,
): ContentBlock | undefined {
  if (bytes.length > MAX_MESSAGE_BYTES) return undefined
  const mimeType = mimeTypeOf(contentType)
  const isMedia = /^(image|audio)\//.test(mimeType) && mimeType !== 'image/svg+xml'
  const text = isMedia ? undefined : textOf(bytes)
  // Each control character is six as JSON.
  if (text !== undefined && jsonBytes(text) <= MAX_MESSAGE_BYTES) return { type: 'text', text }
  const data = Buffer.from(bytes).toString('base64')
  if (data.length > MAX_MESSAGE_BYTES) return undefined
  if (isMedia) return { type: mimeType.startsWith('image/') ? 'image' : 'audio', data, mimeType }
  return {
    type: 'resource',
    resource: { uri, blob: data, mimeType: mimeType || 'application/octet-stream' },
  }
}

export const mimeTypeOf = (contentType: string | null): string =>
  (contentType ?? '').split(';')[0]!.trim().toLowerCase()

/** Does a message hold this result? To an older client, structured content that is no object goes as text once more. */
export function fitsMessage(result: CallToolResult): boolean {
  const { structuredContent } = result
  const again = structuredContent === undefined ? 0 : jsonBytes(JSON.stringify(structuredContent))
  return jsonBytes(result) + again <= MAX_MESSAGE_BYTES
}

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** Undefined: it is no text. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
