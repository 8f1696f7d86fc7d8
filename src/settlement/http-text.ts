import { Agent } from 'undici'
import { UnavailableError } from '../errors.ts'

export interface HttpLimits {
  /** Covers connecting, the head and the whole body. */
  timeoutMs: number
  maxBytes: number
}

/** The answer was cut off because it grew past the limit: what it said is unknown. */
export class OversizeError extends UnavailableError {}

// The engine below `fetch`: without its web streams and signals an exchange takes a third of the time.
const agent = new Agent()

/**
 * One HTTP exchange with a time and a size limit. Whatever goes wrong is an {@link UnavailableError} that names
 * `what`, never the address: RPC addresses carry API keys.
 */
export function fetchText(
  what: string,
  url: string,
  init: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
  { timeoutMs, maxBytes }: HttpLimits,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let status = 0
    let failure: UnavailableError | undefined
    let stop: ((reason: Error) => void) | undefined
    const fail = (cause: unknown) => {
      clearTimeout(timer)
      failure ??= cause instanceof UnavailableError ? cause : new UnavailableError(what, cause)
      reject(failure)
      stop?.(failure)
    }
    const timer = setTimeout(() => fail(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
    try {
      const { origin, pathname, search } = new URL(url)
      const request = { ...init, origin, path: pathname + search, body: init.body ?? null }
      agent.dispatch(request, {
        onRequestStart(controller) {
          stop = (reason) => controller.abort(reason)
          // Too late: the time was up before there was a connection.
          if (failure) stop(failure)
        },
        onResponseStart(_controller, code) {
          status = code
          // Followed, it could carry a signed payment, or our keys, to another host.
          if (code >= 300 && code <= 399) fail(new Error(`redirected with HTTP ${code}`))
        },
        onResponseData(_controller, chunk) {
          size += chunk.length
          if (size <= maxBytes) chunks.push(chunk)
          else fail(new OversizeError(`${what} (answer above ${maxBytes} bytes)`))
        },
        onResponseEnd() {
          clearTimeout(timer)
          resolve({
            status,
            text: (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString('utf8'),
          })
        },
        onResponseError: (_controller, error) => fail(error),
      })
    } catch (error) {
      fail(error)
    }
  })
}
