import type { IncomingMessage } from 'node:http'
import {
  type BodySource,
  NATIVE_BODY,
  NATIVE_BYTES,
  NATIVE_DROPS_BODY,
  NATIVE_HEADER,
  NATIVE_HEADERS,
  NATIVE_TARGET,
} from '../transports/http/native-request.ts'
import { dropsBody, streamOf } from './incoming-body.ts'
import { headerIn, headersFrom, recordFrom } from './raw-headers.ts'

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

  [NATIVE_DROPS_BODY](): boolean {
    return dropsBody(this.#incoming)
  }

  [NATIVE_HEADER](name: string): string | null {
    return headerIn(this.#incoming.rawHeaders, name)
  }

  [NATIVE_HEADERS](): Record<string, string> {
    return recordFrom(this.#incoming.rawHeaders)
  }

  get url(): string {
    return this.#origin + this[NATIVE_TARGET]
  }

  get headers(): Headers {
    this.#headers ??= headersFrom(this.#incoming.rawHeaders)
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

/**
 * As `new Request(origin + target, …)`, which is only made once somebody needs more of it than our own code does. With
 * the light response that it allows, this saves 310 µs of 443 per 402.
 */
export function lightRequest(
  incoming: IncomingMessage,
  origin: string,
  target: string,
  body: BodySource | undefined,
): Request {
  return new LightRequest(incoming, origin, target, body) as unknown as Request
}
