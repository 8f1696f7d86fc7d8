import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server'

/** A failure in words, which a model can pass on. */
export function failure(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] }
}

/** The same result, with a remark after it. */
export function withRemark(result: CallToolResult, remark: string | undefined): CallToolResult {
  if (remark === undefined) return result
  return { ...result, content: [...result.content, { type: 'text', text: remark }] }
}

/** An answer of HTTP as content of a tool's result. */
export function contentOf(bytes: Uint8Array, contentType: string | null, uri: string): ContentBlock {
  const mimeType = (contentType ?? '').split(';')[0]!.trim().toLowerCase()
  const base64 = () => Buffer.from(bytes).toString('base64')
  if (mimeType.startsWith('image/') && mimeType !== 'image/svg+xml')
    return { type: 'image', data: base64(), mimeType }
  if (mimeType.startsWith('audio/')) return { type: 'audio', data: base64(), mimeType }
  const text = textOf(bytes)
  if (text !== undefined) return { type: 'text', text }
  return {
    type: 'resource',
    resource: { uri, blob: base64(), mimeType: mimeType || 'application/octet-stream' },
  }
}

/** Undefined: it is no text. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
