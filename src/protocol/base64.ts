import { isUtf8 } from 'node:buffer'

/** Standard base64 of JSON, as in `payment-required` and `payment-response`. */
export function encodeJson(value: unknown): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64')
}

/**
 * Decodes base64 or base64url JSON. Returns `undefined` for anything that is not exactly one encoded JSON object. The
 * alphabet is checked first, because Node's decoder silently skips other characters.
 */
export function decodeJsonObject(text: string): Record<string, unknown> | undefined {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return undefined
  try {
    const bytes = Buffer.from(text, 'base64')
    if (!isUtf8(bytes)) return undefined
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return value as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** Decoded size of a base64 text, without decoding it. It is asked of texts of any length, so it must not depend on that. */
export function decodedBytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return Math.floor(((text.length - padding) * 3) / 4)
}
