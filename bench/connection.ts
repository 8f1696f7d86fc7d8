import { connect, type Socket } from 'node:net'

export interface Answer {
  status: number
  /** The status line and headers as they came. */
  head: string
  body: Buffer
}

/** A kept-alive connection with one request at a time. */
export interface Connection {
  send(request: Uint8Array | string): Promise<Answer>
  close(): void
}

const HEAD_END = Buffer.from('\r\n\r\n')
const CHUNKS_END = Buffer.from('0\r\n\r\n')
/** A server that has lost a payment (behind a transaction that never comes, say) must not hold up the measurement. */
const LONGEST_SILENCE_MS = 120_000

/**
 * HTTP/1.1 as far as a measurement needs it. A general client costs as much as the servers that it is to measure, and
 * shares the machine with them.
 */
export async function openConnection(
  url: string,
  longestSilenceMs = LONGEST_SILENCE_MS,
): Promise<Connection> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await new Promise<void>((open, fail) => socket.once('connect', open).once('error', fail))
  return attach(socket, longestSilenceMs)
}

function attach(socket: Socket, longestSilenceMs: number): Connection {
  let received: Buffer = Buffer.alloc(0)
  let waiting: { resolve(answer: Answer): void; reject(error: Error): void } | undefined
  const fail = (error: Error) => {
    waiting?.reject(error)
    waiting = undefined
  }
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const answer = parse(received)
    if (!answer) return
    received = Buffer.alloc(0)
    const { resolve } = waiting ?? {}
    waiting = undefined
    resolve?.(answer)
  })
  socket.on('error', fail)
  socket.setTimeout(longestSilenceMs, () => {
    if (waiting) socket.destroy(new Error(`no answer within ${longestSilenceMs / 1000} s`))
  })
  socket.on('close', () => fail(new Error('the server closed the connection')))
  return {
    send(request) {
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        socket.write(request)
      })
    },
    close: () => socket.destroy(),
  }
}

/** Undefined while it is incomplete. */
function parse(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf(HEAD_END)
  if (end === -1) return undefined
  const head = bytes.toString('latin1', 0, end)
  const body = bytes.subarray(end + 4)
  const length = headerOf(head, 'content-length')
  const complete = length === undefined ? body.subarray(-5).equals(CHUNKS_END) : body.length >= Number(length)
  return complete ? { status: Number(head.slice(9, 12)), head, body } : undefined
}

/** One header of {@link Answer.head}. */
export function headerOf(head: string, name: string): string | undefined {
  return new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]
}

/** A request as bytes. */
export function requestText(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = '',
): string {
  const all: Record<string, string> = { host: 'bench', ...headers }
  if (body !== '')
    Object.assign(all, { 'content-type': 'application/json', 'content-length': String(body.length) })
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
