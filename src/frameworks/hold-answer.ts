import type { ServerResponse } from 'node:http'
import type { Reply } from '../transports/http/reply.ts'
import { putHeaders } from './put-headers.ts'
import { wasGivenUp } from './watch-head.ts'
import { watchPipe } from './watch-pipe.ts'

type Write = (...args: unknown[]) => unknown

/** Far more than any stream buffers: where this much was held, the response itself says when there is room again. */
const MAX_HELD_BYTES = 262_144

const WRITES = ['writeHead', 'flushHeaders', 'write', 'end'] as const

/** What is asked about an answer before its first byte may go out. */
export interface Held {
  headersFor(status: number): Record<string, string>
  /** Rejects: the answer must not go out. */
  finish(status: number): Promise<void>
  /** What goes out instead. */
  refusal(error: unknown): Reply
}

/**
 * Holds an answer from its head on until `finish` has agreed to its status: a debit is stored before the first byte goes out.
 * Whoever writes meanwhile sees a response whose head is out; what was written follows in its order. There seems to be room, for
 * middleware in front such as `compression` keeps those who wait for more of it to itself.
 */
export function holdAnswer(response: ServerResponse, { headersFor, finish, refusal }: Held): void {
  const own = response as unknown as Record<(typeof WRITES)[number], Write>
  const original = Object.fromEntries(WRITES.map((name) => [name, own[name]])) as typeof own
  const written: Array<{ name: (typeof WRITES)[number]; args: unknown[] }> = []
  // The methods stay replaced: other code may have replaced them once more, around ours.
  let state: 'open' | 'held' | 'passing' | 'closed' = 'open'
  let ended = false
  let heldBytes = 0

  function hold(status: number): void {
    state = 'held'
    show('headersSent', () => true)
    show('writableEnded', () => ended)
    finish(status)
      .then(
        () => release(status),
        (error: unknown) => replace(refusal(error)),
      )
      // What a handler wrote may be nothing that can be written; it would have been told at once.
      .catch(() => response.destroy())
  }

  function release(status: number): void {
    pass()
    // A handler that changes it after the head comes too late.
    response.statusCode = status
    const headers = headersFor(status)
    putHeaders(response, headers, [])
    let hasRoom = true
    for (const { name, args } of written) {
      const given = name === 'writeHead' ? putHeaders(response, headers, args) : args
      const result = original[name].apply(response, given)
      if (name === 'write') hasRoom = result !== false
    }
    if (!ended && hasRoom) response.emit('drain')
  }

  function replace({ status, headers, body }: Reply): void {
    pass()
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    original.writeHead.call(response, status, headers)
    original.end.call(response, body ?? undefined)
    state = 'closed'
  }

  function show(name: 'headersSent' | 'writableEnded', get: () => boolean): void {
    Object.defineProperty(response, name, { get, configurable: true })
  }

  function pass(): void {
    state = 'passing'
    for (const name of ['headersSent', 'writableEnded'] as const) Reflect.deleteProperty(response, name)
  }

  function keep(name: (typeof WRITES)[number], args: unknown[]): void {
    const isFirst = state === 'open'
    if (isFirst) hold(name === 'writeHead' ? Number(args[0]) : response.statusCode)
    // Some middleware writes the head again when it does not see it.
    if (ended || (name === 'writeHead' && !isFirst)) return
    written.push({ name, args })
    if (name === 'write') heldBytes += sizeOf(args[0])
    ended = name === 'end'
  }

  function endUnwritten(status: number): void {
    if (state !== 'open') return
    state = 'closed'
    finish(status).catch(() => {})
  }

  response.once('close', () => {
    if (wasGivenUp(response)) endUnwritten(500)
  })
  watchPipe(response, endUnwritten)
  for (const name of WRITES) {
    own[name] = (...args) => {
      if (state === 'passing') return original[name].apply(response, args)
      if (state !== 'closed') keep(name, args)
      return name === 'write' ? state === 'held' && heldBytes <= MAX_HELD_BYTES : response
    }
  }
}

function sizeOf(chunk: unknown): number {
  return typeof chunk === 'string' || chunk instanceof Uint8Array ? chunk.length : 0
}
