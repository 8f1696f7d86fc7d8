import type { IncomingMessage } from 'node:http'
import {
  type BodySink,
  type BodySource,
  NATIVE_BODY,
  NATIVE_BYTES,
  NATIVE_HEADER,
  NATIVE_TARGET,
} from '../transports/http/native-request.ts'

const NO_BYTES = new Uint8Array()

/**
 * A Fetch Request over node's own message. Method, URL, headers and a pushed body cost little; whatever else of
 * the standard is touched makes a real Request first.
 */
class LightRequest {
  readonly method: string
  readonly [NATIVE_TARGET]: string
  readonly [NATIVE_BODY]: BodySource | undefined
  readonly #origin: string
  readonly #incoming: IncomingMessage
  #headers: Headers | undefined
  #real: Request | undefined

  constructor(incoming: IncomingMessage, origin: string, target: string, source: BodySource | undefined) {
    this.method = incoming.method ?? 'GET'
    this.#origin = origin
    this[NATIVE_TARGET] = target
    this.#incoming = incoming
    this[NATIVE_BODY] = source
  }

  [NATIVE_BYTES](): Uint8Array | undefined {
    const incoming = this.#incoming
    const isUnread = !this.#real && incoming.readableFlowing === null && !incoming.readableEnded
    if (!incoming.complete || !isUnread) return undefined
    return incoming.read() ?? NO_BYTES
  }

  [NATIVE_HEADER](name: string): string | null {
    return headerIn(this.#incoming.rawHeaders, name)
  }

  get url(): string {
    return this.#origin + this[NATIVE_TARGET]
  }

  get headers(): Headers {
    this.#headers ??= headersOf(this.#incoming.rawHeaders)
    return this.#headers
  }

  real(): Request {
    if (!this.#real) {
      const source = this[NATIVE_BODY]
      this.#real = new Request(this.url, {
        method: this.method,
        headers: this.headers,
        ...(source && { body: streamOf(this.#incoming, source), duplex: 'half' as const }),
      })
    }
    return this.#real
  }
}

export interface EmbeddedRequest {
  /** The target as the client sent it, where a framework rewrites `incoming.url`. */
  target?: string
  /** What a body parser left behind, in case it has read the body already. */
  parsedBody?: unknown
}

/** Throws a TypeError for a target that Fetch cannot express. */
export function toRequest(
  incoming: IncomingMessage,
  origin: string,
  { target = incoming.url ?? '/', parsedBody }: EmbeddedRequest = {},
): Request {
  return new LightRequest(
    incoming,
    origin,
    pathOf(target),
    bodyOf(incoming, parsedBody),
  ) as unknown as Request
}

/** Origin-form as it is; of an absolute target only the path counts, for its host is the client's claim. */
function pathOf(target: string): string {
  if (target.startsWith('/')) return target
  if (target === '*') return '/'
  const { pathname, search } = new URL(target)
  return pathname + search
}

/** node's own `headers` drops some duplicates silently; appended, a second one shows up as a comma. */
function headersOf(rawHeaders: readonly string[]): Headers {
  const headers = new Headers()
  for (let index = 0; index < rawHeaders.length; index += 2)
    // HTTP/2 has `:path` and the like among them.
    if (!rawHeaders[index]!.startsWith(':')) headers.append(rawHeaders[index]!, rawHeaders[index + 1]!)
  return headers
}

function bodyOf(incoming: IncomingMessage, parsedBody: unknown): BodySource | undefined {
  if (!hasBody(incoming)) return undefined
  if (!incoming.readableEnded) return (sink) => pushBody(incoming, sink)
  return (sink) => pushParsed(parsedBody, sink)
}

/** The stream is used up. What was parsed from it is written down again; without that the body is lost. */
function pushParsed(parsedBody: unknown, sink: BodySink): () => void {
  if (parsedBody === undefined) sink.fail(new Error('other code has read the body'))
  else {
    const plain = typeof parsedBody === 'string' || parsedBody instanceof Uint8Array
    sink.chunk(Buffer.from(plain ? parsedBody : JSON.stringify(parsedBody)))
    sink.end()
  }
  return () => {}
}

/** Whether all of it has arrived. Of a request without a body node says so only after it was handed out. */
export const isWhole = (incoming: IncomingMessage): boolean => incoming.complete || !declaresBody(incoming)

function hasBody(incoming: IncomingMessage): boolean {
  const { method } = incoming
  return method !== 'GET' && method !== 'HEAD' && declaresBody(incoming)
}

function declaresBody({ rawHeaders }: IncomingMessage): boolean {
  if (headerIn(rawHeaders, 'transfer-encoding') !== null) return true
  // Several come as one list, which is no number: whatever is not zero announces a body.
  return Number(headerIn(rawHeaders, 'content-length')) !== 0
}

/** Of a name in lower case, all that came. node's own `headers` is made from all of them at the first look. */
function headerIn(rawHeaders: readonly string[], name: string): string | null {
  let found: string | null = null
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index]!
    if (given.length !== name.length || given.toLowerCase() !== name) continue
    const value = rawHeaders[index + 1]!
    found = found === null ? value : `${found}, ${value}`
  }
  return found
}

function pushBody(incoming: IncomingMessage, sink: BodySink): () => void {
  const onClose = () => {
    if (!incoming.complete) sink.fail(new Error('the client went away before its request was complete'))
  }
  if (incoming.destroyed && !incoming.complete) {
    sink.fail(new Error('the client is gone'))
    return () => {}
  }
  incoming.on('data', sink.chunk).on('end', sink.end).on('error', sink.fail).on('close', onClose)
  return () => {
    // Over and done: nothing more comes, and the message goes with its listeners.
    if (incoming.readableEnded) return
    incoming.off('data', sink.chunk).off('end', sink.end).off('error', sink.fail).off('close', onClose)
    // Paused, not destroyed: destroying the message would take the socket, and with it our answer.
    incoming.pause()
  }
}

function streamOf(incoming: IncomingMessage, source: BodySource): ReadableStream<Uint8Array> {
  let stop: (() => void) | undefined
  let over = false
  return new ReadableStream<Uint8Array>({
    start(controller) {
      stop = source({
        chunk(bytes) {
          controller.enqueue(bytes)
          if ((controller.desiredSize ?? 1) <= 0) incoming.pause()
        },
        end() {
          over = true
          controller.close()
        },
        fail(error) {
          over = true
          controller.error(error)
        },
      })
    },
    pull() {
      if (!over) incoming.resume()
    },
    cancel() {
      over = true
      stop?.()
    },
  })
}

const PROPERTIES = [
  'body',
  'bodyUsed',
  'cache',
  'credentials',
  'destination',
  'duplex',
  'integrity',
  'keepalive',
  'mode',
  'redirect',
  'referrer',
  'referrerPolicy',
  'signal',
] as const
for (const name of PROPERTIES) {
  Object.defineProperty(LightRequest.prototype, name, {
    get(this: LightRequest) {
      return this.real()[name]
    },
  })
}
for (const name of ['arrayBuffer', 'blob', 'clone', 'formData', 'json', 'text'] as const) {
  Object.defineProperty(LightRequest.prototype, name, {
    value(this: LightRequest) {
      return this.real()[name]()
    },
  })
}
Object.setPrototypeOf(LightRequest.prototype, Request.prototype)
