/**
 * What requests of our own node:http bridge offer beside the Fetch standard. Web streams and Response objects cost several
 * times the work of a 402; a request with these properties is read and answered without them.
 */
export const NATIVE_BODY = Symbol('paystile.native-body')
export const NATIVE_BYTES = Symbol('paystile.native-bytes')
export const NATIVE_DROPS_BODY = Symbol('paystile.native-drops-body')
export const NATIVE_HEADER = Symbol('paystile.native-header')
export const NATIVE_HEADERS = Symbol('paystile.native-headers')
export const NATIVE_TARGET = Symbol('paystile.native-target')

/** Receives a body piece by piece. */
export interface BodySink {
  chunk(bytes: Uint8Array): void
  end(): void
  fail(error: unknown): void
}

/** Starts to push; the returned function stops it, and leaves the connection open for the answer. */
export type BodySource = (sink: BodySink) => () => void

/** undefined: this request has no body. */
export function bodySourceOf(request: Request): BodySource | undefined {
  if (NATIVE_BODY in request) return request[NATIVE_BODY] as BodySource | undefined
  const body = request.body
  return body === null ? undefined : (sink) => pushFrom(body, sink)
}

/** Was there a body that this request leaves out? Fetch gives GET and HEAD none; other servers of Fetch handlers just keep its headers. */
export function dropsBody(request: Request): boolean {
  if (NATIVE_DROPS_BODY in request) return (request[NATIVE_DROPS_BODY] as () => boolean)()
  const { method } = request
  return (method === 'GET' || method === 'HEAD') && Number(headerOf(request, 'content-length')) !== 0
}

/** Takes the body, if all of it has arrived and nobody has begun to read it. Saves 10 µs of 145 of a whole 402, socket included. */
export function takeArrived(request: Request): Uint8Array | undefined {
  if (!(NATIVE_BYTES in request)) return undefined
  return (request[NATIVE_BYTES] as () => Uint8Array | undefined)()
}

/**
 * As `request.headers.get` does, for a name in lower case; without making Headers where that can be avoided. Saves 3.4 µs
 * of the 18 that the handler takes for a 402.
 */
export function headerOf(request: Request, name: string): string | null {
  if (!(NATIVE_HEADER in request)) return request.headers.get(name)
  return (request[NATIVE_HEADER] as (name: string) => string | null)(name)
}

/** All headers, names in lower case; without making Headers where that can be avoided. */
export function headersOf(request: Request): Record<string, string> {
  if (!(NATIVE_HEADERS in request)) return Object.fromEntries(request.headers)
  return (request[NATIVE_HEADERS] as () => Record<string, string>)()
}

/** The path with query as it was sent; undefined where only `request.url` is left of it. */
export function targetOf(request: object): string | undefined {
  return NATIVE_TARGET in request ? (request[NATIVE_TARGET] as string) : undefined
}

export function acceptsLightResponse(request: Request): boolean {
  return NATIVE_BODY in request
}

function pushFrom(body: NonNullable<Request['body']>, sink: BodySink): () => void {
  const reader = body.getReader()
  let stopped = false
  const push = async () => {
    for (;;) {
      const { done, value } = await reader.read()
      if (stopped) return
      if (done) return sink.end()
      sink.chunk(value)
    }
  }
  push().catch((error: unknown) => sink.fail(error))
  return () => {
    stopped = true
    // A body that was left half read may hold a socket: say that nobody wants the rest.
    reader.cancel().catch(() => {})
  }
}
