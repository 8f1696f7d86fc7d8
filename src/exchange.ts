import type { Dispatcher } from 'undici'

export interface ExchangeRequest {
  origin: string
  /** With its query. */
  path: string
  method: string
  headers: Record<string, string>
  body?: string | Uint8Array | null
}

export interface ExchangeLimits {
  /** Covers connecting, the head and the whole body. */
  timeoutMs: number
  maxBytes: number
}

export interface ExchangeHead {
  status: number
  headers: Record<string, string | string[] | undefined>
}

export interface ExchangeAnswer extends ExchangeHead {
  bytes: Buffer
  /** Those after the body. */
  trailers: ExchangeHead['headers']
}

/** Sees the head of an answer before its body, and says who gets the body as it comes, if anybody. */
export type WatchExchange = (head: ExchangeHead) => ((chunk: Buffer) => void) | undefined

/** Our own limit ended the exchange: what would have been answered is unknown. */
export class LimitError extends Error {
  readonly limit: 'time' | 'size'

  constructor(limit: 'time' | 'size', message: string) {
    super(message)
    this.limit = limit
  }
}

/**
 * One HTTP exchange within limits; no redirect is followed. It works below `fetch`: without web streams and signals an
 * exchange takes a third of the time.
 */
export function exchange(
  agent: Dispatcher,
  request: ExchangeRequest,
  { timeoutMs, maxBytes }: ExchangeLimits,
  watch?: WatchExchange,
): Promise<ExchangeAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let status = 0
    let headers: ExchangeAnswer['headers'] = {}
    let watcher: ReturnType<WatchExchange>
    let failure: Error | undefined
    let stop: ((reason: Error) => void) | undefined
    const fail = (cause: Error) => {
      clearTimeout(timer)
      failure ??= cause
      reject(failure)
      stop?.(failure)
    }
    const timer = setTimeout(() => {
      fail(new LimitError('time', `no answer within ${timeoutMs} ms`))
    }, timeoutMs)
    try {
      // Any token is a method; undici's own type lists just the usual ones.
      const method = request.method as Dispatcher.HttpMethod
      agent.dispatch(
        // The one clock above is enough.
        { ...request, method, body: request.body ?? null, headersTimeout: 0, bodyTimeout: 0 },
        {
          onRequestStart(controller) {
            stop = (reason) => controller.abort(reason)
            // Too late: the time was up before there was a connection.
            if (failure) stop(failure)
          },
          onResponseStart(_controller, code, given) {
            status = code
            headers = given
            // 1xx answers come before the one that counts.
            if (code >= 200) watcher = watch?.({ status, headers })
          },
          onResponseData(_controller, chunk) {
            size += chunk.length
            if (size <= maxBytes) {
              chunks.push(chunk)
              watcher?.(chunk)
            } else fail(new LimitError('size', `the answer exceeds ${maxBytes} bytes`))
          },
          onResponseEnd(_controller, trailers) {
            clearTimeout(timer)
            const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
            resolve({ status, headers, bytes, trailers })
          },
          onResponseError: (_controller, error) => fail(error),
        },
      )
    } catch (error) {
      fail(error instanceof Error ? error : new Error('unknown'))
    }
  })
}
