import { BuyerError } from './buyer-error.ts'

/** Far above the size of any offer, grant or error; longer documents are not read. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024

/** Enough for a document of that size on a slow line; a seller that sends a byte a minute is given up. */
const READ_TIMEOUT_MS = 30_000

/** For documents that a gateway has at hand: beyond it, the gateway counts as unreachable. */
export const ANSWER_TIMEOUT_MS = 30_000

/** The body as text; undefined as soon as it is longer, or takes longer, than allowed. The rest is never downloaded. */
export async function readDocument(response: Response): Promise<string | undefined> {
  if (!response.body) return ''
  const reader = response.body.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  let late = false
  // Not awaited: half of a cloned body is cancelled only when the other half is.
  const stop = () => void reader.cancel().catch(() => {})
  const timer = setTimeout(() => {
    late = true
    stop()
  }, READ_TIMEOUT_MS)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (late) return undefined
      if (done) return Buffer.concat(chunks).toString('utf8')
      bytes += value.byteLength
      if (bytes > MAX_DOCUMENT_BYTES) {
        stop()
        return undefined
      }
      chunks.push(value)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** The same answer, whose body fails with an error if it exceeds the limit. */
export function capResponse(response: Response, maxBytes: number): Response {
  if (!response.body) return response
  let bytes = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      if (bytes > maxBytes) {
        const message = `${response.url || 'the seller'} sent more than ${maxBytes} bytes; raise maxResponseBytes to take more`
        controller.error(new BuyerError('ANSWER_TOO_LARGE', message))
      } else controller.enqueue(chunk)
    },
  })
  const { status, statusText, headers, url, redirected } = response
  const capped = new Response(response.body.pipeThrough(counter), { status, statusText, headers })
  // A constructed Response has no values for these.
  Object.defineProperties(capped, { url: { value: url }, redirected: { value: redirected } })
  return capped
}

/** Reads a short body at once, so that one that breaks off counts as a lost answer. Longer ones are handed on as they come. */
export async function wholeIfShort(response: Response): Promise<Response> {
  const length = response.headers.get('content-length')
  if (!response.body || length === null || Number(length) > MAX_DOCUMENT_BYTES) return response
  const { status, statusText, headers, url, redirected } = response
  const whole = new Response(await response.arrayBuffer(), { status, statusText, headers })
  Object.defineProperties(whole, { url: { value: url }, redirected: { value: redirected } })
  return whole
}
