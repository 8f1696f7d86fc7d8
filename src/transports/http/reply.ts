import { acceptsLightResponse } from './native-request.ts'

/** A response as plain data: what every endpoint returns, and what a test compares. */
export interface Reply {
  status: number
  headers: Readonly<Record<string, string>>
  body: string | null
  /** In place of `body`: a body that is no text of ours. */
  bytes?: Buffer
  /** The body is known to have as many bytes as characters. */
  isAscii?: boolean
  /** A page of our own, whose scripts are ours: it need not be kept apart from the operator's pages. */
  isOwnPage?: boolean
}

export function jsonReply(status: number, headers: Readonly<Record<string, string>>, value: unknown): Reply {
  return { status, headers, body: JSON.stringify(value) }
}

/** The Fetch standard's Response, or a light one where our own bridge asked for it. */
export function toResponse(reply: Reply, request: Request): Response {
  if (acceptsLightResponse(request)) return new LightResponse(reply) as unknown as Response
  return realResponse(reply)
}

function realResponse({ status, headers, body, bytes }: Reply): Response {
  if (!bytes) return new Response(body, { status, headers })
  const sized = { ...headers, 'content-length': String(bytes.length) }
  return new Response(new Uint8Array(bytes), { status, headers: sized })
}

/** The plain data behind a light response; undefined for any other, and once somebody has looked inside it. */
export function plainReplyOf(response: Response): Reply | undefined {
  return response instanceof LightResponse ? response.untouched() : undefined
}

/**
 * Making and reading a real Response costs more than the rest of a 402 together. This one becomes real at the
 * first look at its headers or body, so code between handler and bridge sees a Response like any other.
 */
class LightResponse {
  readonly #reply: Reply
  #real: Response | undefined

  constructor(reply: Reply) {
    this.#reply = reply
  }

  get status(): number {
    return this.#reply.status
  }

  get ok(): boolean {
    return this.#reply.status >= 200 && this.#reply.status <= 299
  }

  untouched(): Reply | undefined {
    return this.#real ? undefined : this.#reply
  }

  real(): Response {
    this.#real ??= realResponse(this.#reply)
    return this.#real
  }
}

for (const name of ['headers', 'body', 'bodyUsed', 'redirected', 'statusText', 'type', 'url'] as const) {
  Object.defineProperty(LightResponse.prototype, name, {
    get(this: LightResponse) {
      return this.real()[name]
    },
  })
}
for (const name of ['arrayBuffer', 'blob', 'clone', 'formData', 'json', 'text'] as const) {
  Object.defineProperty(LightResponse.prototype, name, {
    value(this: LightResponse) {
      return this.real()[name]()
    },
  })
}
Object.setPrototypeOf(LightResponse.prototype, Response.prototype)
