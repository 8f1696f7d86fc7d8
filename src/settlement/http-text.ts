import { UnavailableError } from '../errors.ts'

export interface HttpLimits {
  /** Covers connecting, the head and the whole body. */
  timeoutMs: number
  maxBytes: number
}

/** The answer was cut off because it grew past the limit: what it said is unknown. */
export class OversizeError extends UnavailableError {}

/**
 * One HTTP exchange with a time and a size limit. Whatever goes wrong is an {@link UnavailableError} that names
 * `what`, never the address: RPC addresses carry API keys.
 */
export async function fetchText(
  what: string,
  url: string,
  init: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
  { timeoutMs, maxBytes }: HttpLimits,
): Promise<{ status: number; text: string }> {
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    // A redirect could carry a signed payment, or our keys, to another host.
    const response = await fetch(url, { ...init, redirect: 'error', signal })
    return { status: response.status, text: await readCapped(response, maxBytes, what) }
  } catch (error) {
    if (error instanceof UnavailableError) throw error
    throw new UnavailableError(what, error)
  }
}

async function readCapped(response: Response, maxBytes: number, what: string): Promise<string> {
  if (!response.body) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length
    // Leaving the loop cancels the body and with it the connection.
    if (size > maxBytes) throw new OversizeError(`${what} (answer above ${maxBytes} bytes)`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
