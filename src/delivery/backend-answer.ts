import { isUtf8 as isValidUtf8 } from 'node:buffer'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import type { BackendAnswer } from '../protocol/access.ts'
import { isNestedTooDeep } from '../protocol/json-depth.ts'
import { inexactNumber } from '../protocol/json-numbers.ts'

/**
 * JSON stays JSON and text stays text; everything else becomes base64, JSON that is nested absurdly deep as well. Without a
 * content type the bytes tell: UTF-8 is JSON if it parses as an object or an array, otherwise text.
 */
export function answerOf(status: number, contentType: string | undefined, bytes: Buffer): BackendAnswer {
  const typed = contentType === undefined ? {} : { contentType }
  if (bytes.length === 0) return { status, body: null, ...typed }
  const essence = /^[^;]*/
    .exec(contentType ?? '')![0]
    .trim()
    .toLowerCase()
  const untyped = essence === ''
  const json = essence === 'application/json' || essence.endsWith('+json')
  if (json || ((untyped || essence.startsWith('text/')) && isUtf8(contentType))) {
    // Text has no NUL, and UTF-16 has many.
    const text = untyped && bytes.includes(0) ? undefined : utf8(bytes)
    if (text !== undefined) {
      const value = json || untyped ? parsed(text) : undefined
      // Text such as `1.10` or `null` parses too, and would be another text; nobody means an object by accident.
      const isMeant = json || (typeof value?.value === 'object' && value.value !== null)
      if (value && isMeant) return { status, body: value.value, ...typed, ...exactly(text) }
      if (!json) return { status, body: text, ...typed }
    }
  }
  return { status, body: bytes.toString('base64'), encoding: 'base64', ...typed }
}

/** Only text without another charset: UTF-16 is often valid UTF-8 too, with zeros in between. */
function isUtf8(contentType = ''): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(contentType)?.[1]?.toLowerCase()
  return charset === undefined || ['utf-8', 'utf8', 'us-ascii', 'ascii'].includes(charset)
}

function utf8(bytes: Buffer): string | undefined {
  return isValidUtf8(bytes) ? bytes.toString('utf8') : undefined
}

/** A number that a double does not hold is another one once it was parsed: then the text goes with it. */
function exactly(text: string): Pick<BackendAnswer, 'text'> {
  return inexactNumber(text) === undefined ? {} : { text }
}

function parsed(text: string): { value: unknown } | undefined {
  if (isNestedTooDeep(text)) return undefined
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

/** The bytes of a stream; undefined if there are more than allowed, and then the rest is not downloaded. */
export async function bytesOf(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  /** Gets each chunk as it comes. */
  onChunk?: (chunk: Uint8Array) => void,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop early ends the stream.
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) return undefined
    chunks.push(chunk)
    onChunk?.(chunk)
  }
  return Buffer.concat(chunks)
}

const DECODERS = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/** Decompresses an answer, since some backends compress although we ask for plain bytes. Undefined: it is damaged or too large. */
export async function decodeContent(
  bytes: Buffer,
  encoding: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const name = encoding.trim().toLowerCase()
  if (name === '' || name === 'identity' || bytes.length === 0) return bytes
  if (!Object.hasOwn(DECODERS, name)) return undefined
  try {
    return await DECODERS[name as keyof typeof DECODERS](bytes, { maxOutputLength: maxBytes })
  } catch {
    return undefined
  }
}
