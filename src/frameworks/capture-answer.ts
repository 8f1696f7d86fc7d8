import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { isCaching } from '../protocol/caching-headers.ts'
import type { CapturedAnswer, MeteredCharge } from '../transports/http/charged.ts'
import { plainReplyOf } from '../transports/http/reply.ts'
import { NO_ANSWER } from './give-up.ts'
import { headerPairs } from './header-pairs.ts'
import { watchPipe } from './watch-pipe.ts'

/** As node:http and Fastify have them. */
type StandingHeaders = Readonly<Record<string, string | number | string[] | undefined>>
type Method = (...args: unknown[]) => unknown

/** All by which a handler could make something go out. */
const OUTGOING = [
  ...(['writeHead', 'flushHeaders', 'write', 'end', 'addTrailers', 'writeEarlyHints'] as const),
  ...(['setHeader', 'setHeaders', 'appendHeader', 'removeHeader'] as const),
]
type Name = (typeof OUTGOING)[number]

const HEADER_CHANGES: ReadonlySet<Name> = new Set(['setHeader', 'setHeaders', 'appendHeader', 'removeHeader'])

/**
 * Collects the whole answer that is written to a response, hands it to `finish`, and sends what goes out in its place, once. A
 * handler that is still writing then writes to nowhere. `standing`: the headers that were set before the handler runs. They are
 * no part of the answer, and stay whatever goes out, except what they say to caches.
 */
export function captureAnswer(
  response: ServerResponse,
  metered: Pick<MeteredCharge, 'finish' | 'letOut' | 'maxBytes' | 'response'>,
  standing: StandingHeaders,
): void {
  const own = response as unknown as Record<Name, Method>
  const original = Object.fromEntries(OUTGOING.map((name) => [name, own[name]])) as typeof own
  const kept = { ...standing }
  const staying = [...headerPairs(kept)].filter(([name]) => !isCaching(name))
  const chunks: Buffer[] = []
  let size = 0
  let status: number | undefined
  let ended = false
  let sent: ReturnType<NonNullable<MeteredCharge['letOut']>>
  let hasHead = false
  let state: 'capturing' | 'passing' | 'closed' = 'capturing'

  function writeHead(code: unknown, ...rest: unknown[]): void {
    if (status !== undefined) return
    const number = Number(code)
    if (!Number.isInteger(number) || number < 200 || number > 999) throw new RangeError(`no status: ${code}`)
    status = number
    response.statusCode = number
    const given = rest.find((one) => typeof one === 'object' && one !== null)
    for (const [name, value] of headerPairs(given ?? {})) original.setHeader.call(response, name, value)
  }

  function keep(chunk: unknown, encoding: unknown): void {
    // By the method as it is now: middleware between us and the handler may wait for the head.
    if (status === undefined) own.writeHead(response.statusCode)
    if (!hasHead && status !== undefined) {
      hasHead = true
      sent = metered.letOut?.({ status, headers: ownHeaders(response.getHeaders(), kept) })
    }
    if (chunk === undefined || chunk === null || typeof chunk === 'function' || ended) return
    const bytes = bytesOf(chunk, encoding)
    size += bytes.length
    chunks.push(bytes)
    // It is refused for its size, and the rest need not be kept.
    if (size > metered.maxBytes) finish()
    else sent?.(bytes)
  }

  function finish(answer = capturedAnswer()): void {
    if (ended) return
    ended = true
    void metered.finish(answer)
    chunks.length = 0
  }

  function capturedAnswer(): CapturedAnswer {
    const headers = ownHeaders(response.getHeaders(), kept)
    return { status: status ?? response.statusCode, headers, body: Buffer.concat(chunks) }
  }

  const captured: Partial<Record<Name, Method>> = {
    writeHead,
    flushHeaders: () => keep(undefined, undefined),
    write(chunk, ...rest) {
      keep(chunk, rest[0])
      const written = rest.find((one) => typeof one === 'function')
      if (written) process.nextTick(written)
      return true
    },
    end(chunk, ...rest) {
      const done = [chunk, ...rest].find((one) => typeof one === 'function')
      if (done) response.once('finish', done as () => void)
      keep(chunk, rest[0])
      finish()
    },
  }

  for (const name of OUTGOING) {
    own[name] = (...args) => {
      if (state === 'passing') return original[name].apply(response, args)
      if (state === 'capturing' && HEADER_CHANGES.has(name)) return original[name].apply(response, args)
      const result = state === 'capturing' ? captured[name]?.(...args) : name === 'write' || undefined
      return result ?? response
    }
  }
  show('headersSent', () => status !== undefined)
  show('writableEnded', () => ended)

  function show(name: 'headersSent' | 'writableEnded', get: () => boolean): void {
    Object.defineProperty(response, name, { get, configurable: true })
  }

  async function send(answer: Response): Promise<void> {
    if (sent && answer.body) return sendLive(answer.status, answer.headers, answer.body)
    const plain = plainReplyOf(answer)
    const headers = plain ? { ...plain.headers } : Object.fromEntries(answer.headers)
    const body = plain ? (plain.bytes ?? plain.body) : answer.body && Buffer.from(await answer.arrayBuffer())
    for (const name of ['headersSent', 'writableEnded'] as const) Reflect.deleteProperty(response, name)
    // From here to `closed` nothing waits, so that no other code can write in between.
    state = 'passing'
    if (!response.destroyed) {
      for (const name of response.getHeaderNames()) response.removeHeader(name)
      for (const [name, value] of staying) response.setHeader(name, value)
      if (body !== null) headers['content-length'] = String(Buffer.byteLength(body))
      original.writeHead.call(response, answer.status, headers)
      original.end.call(response, body ?? undefined)
    }
    state = 'closed'
  }

  /** The handler is still writing, and what it writes comes back here: only this goes to the client. */
  async function sendLive(status: number, headers: Headers, body: AsyncIterable<Uint8Array>): Promise<void> {
    for (const name of response.getHeaderNames()) original.removeHeader.call(response, name)
    for (const [name, value] of staying) original.setHeader.call(response, name, value)
    original.writeHead.call(response, status, Object.fromEntries(headers))
    original.flushHeaders.call(response)
    // A client that has gone away does not end the call: its answer is stored and charged.
    for await (const chunk of body) original.write.call(response, chunk)
    state = 'closed'
    original.end.call(response)
  }

  const fail = () => finish(NO_ANSWER)
  response.once('close', () => {
    if (response.errored) fail()
  })
  // What is piped to a client who has left never comes whole.
  watchPipe(response, fail)
  metered.response.then(send).catch(() => response.destroy())
}

function bytesOf(chunk: unknown, encoding: unknown): Buffer {
  if (chunk instanceof Uint8Array) return Buffer.from(chunk)
  if (typeof chunk !== 'string') throw new TypeError('a chunk of an answer is neither text nor bytes')
  return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
}

/** The headers that were not there before the handler ran. */
function ownHeaders(all: OutgoingHttpHeaders, standing: StandingHeaders): CapturedAnswer['headers'] {
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => {
      if (value === undefined || String(value) === String(standing[name])) return []
      return [[name, Array.isArray(value) ? value : String(value)]]
    }),
  )
}
