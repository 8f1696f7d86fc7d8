import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import postgres from 'postgres'
import type { Query, Result } from './driver.ts'
import type { PostgresTarget } from './postgres-url.ts'

/** One session with the server. Once broken it stays broken; a new one must be created. */
export interface PostgresConnection {
  /** Sends all queries at once; results are in order. Rejects with the PostgresFault of the first that fails. */
  run(queries: readonly Query[]): Promise<Answer[]>
  readonly broken: boolean
  /** Terminates the session and waits a short time for the server to close the connection. */
  end(): Promise<void>
  /** Closes the connection at once. Calls without an answer reject. */
  destroy(): void
}

export interface Answer extends Result {
  /** What the server says it did: COMMIT is answered with ROLLBACK if the transaction had failed. */
  command: string
}

/** What went wrong, without the statement and its values, which contain signatures. */
export class PostgresFault extends Error {
  /** The server's SQLSTATE, or a code of the network. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'PostgresFault'
    this.code = code
  }
}

export interface PostgresSettings {
  target: PostgresTarget
  schema: string
  /** The server cancels a statement after this time. */
  statementTimeoutMs: number
}

export interface ConnectionEvents {
  onNotify?(channel: string, payload: string): void
  onClose?(): void
}

const END_LIMIT_SECONDS = 1
const NO_TLS = 'N'.charCodeAt(0)

/**
 * A connection that is opened by its first query. After a lost connection the client library would reconnect and send what is
 * queued, so that the rest of a transaction would run as separate statements. Therefore each client gets one socket, once.
 */
export function createConnection(
  { target, schema, statementTimeoutMs }: PostgresSettings,
  { onNotify, onClose }: ConnectionEvents = {},
): PostgresConnection {
  let socket: Socket | undefined
  let fault: PostgresFault | undefined
  /** Rejects the calls without an answer: the library forgets some of them when a connection ends. */
  const unanswered = new Set<(reason: PostgresFault) => void>()

  function fail(reason: PostgresFault): void {
    if (fault !== undefined) return
    fault = reason
    socket?.destroy()
    for (const reject of unanswered) reject(reason)
    onClose?.()
  }

  async function openSocket(): Promise<Socket> {
    if (socket !== undefined || fault !== undefined)
      throw new PostgresFault('08003', 'the connection is closed')
    const { host, port } = target
    socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect({ host, port })
    socket.setNoDelay(true)
    // The library reports later errors of the socket; an error before that must not end the process.
    socket.on('error', () => {})
    Object.assign(socket, { host })
    await once(socket, 'connect')
    // Asked for TLS, a server without it answers N. The library would go on with the handshake, which fails for no clear reason.
    if (typeof target.tls === 'object') {
      socket.once('data', (answer: Buffer) => {
        if (answer[0] === NO_TLS) fail(new PostgresFault('ERR_TLS_REFUSED', 'the server does not speak TLS'))
      })
    }
    return socket
  }

  const options: postgres.Options<Record<string, never>> & {
    socket: () => Promise<Socket>
    no_subscribe: true
    max_pipeline: number
  } = {
    host: target.host,
    port: target.port,
    user: target.user,
    pass: target.password,
    database: target.database,
    ssl: target.tls,
    max: 1,
    max_pipeline: 10_000,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: 0,
    backoff: () => 0,
    keep_alive: 15,
    fetch_types: false,
    no_subscribe: true,
    connection: {
      application_name: 'paystile',
      search_path: `"${schema}"`,
      statement_timeout: statementTimeoutMs,
      // If an instance stops in the middle of a transaction, its row locks must end before others give up waiting for them.
      idle_in_transaction_session_timeout: Math.floor(statementTimeoutMs / 2),
    },
    socket: openSocket,
    onnotice: () => {},
    onclose: () => fail(new PostgresFault('08006', 'the connection was lost')),
    ...(onNotify && { onnotify: onNotify }),
  }
  const client = postgres(options)

  return {
    get broken() {
      return fault !== undefined
    },
    async run(queries) {
      if (fault !== undefined) throw fault
      const answers = queries.map(({ sql, params }) => {
        return client.unsafe(numbered(sql), params, { prepare: true }).execute()
      })
      return new Promise((resolve, reject) => {
        unanswered.add(reject)
        Promise.all(answers)
          .finally(() => unanswered.delete(reject))
          .then(
            (results) => resolve(results.map(toAnswer)),
            (error: unknown) => {
              const reason = toFault(error)
              // After a refused statement the session continues; any other fault ends it.
              if ((error as { severity?: unknown }).severity !== 'ERROR') fail(reason)
              reject(reason)
            },
          )
      })
    },
    async end() {
      if (fault === undefined) await client.end({ timeout: END_LIMIT_SECONDS }).catch(() => {})
      fail(new PostgresFault('08003', 'the connection is closed'))
    },
    destroy: () => fail(new PostgresFault('08006', 'the server did not answer in time')),
  }
}

function toAnswer(rows: postgres.RowList<postgres.Row[]>): Answer {
  return { rows, changes: rows.count ?? 0, command: rows.command }
}

function toFault(error: unknown): PostgresFault {
  if (error instanceof PostgresFault) return error
  const { code, message } = error as { code?: unknown; message?: unknown }
  return new PostgresFault(String(code ?? 'unknown'), String(message ?? error))
}

const numberedTexts = new Map<string, string>()

function numbered(sql: string): string {
  let text = numberedTexts.get(sql)
  if (text === undefined) {
    let count = 0
    text = sql.replaceAll('?', () => `$${++count}`)
    numberedTexts.set(sql, text)
  }
  return text
}
