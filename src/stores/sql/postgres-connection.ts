import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import postgres from 'postgres'
import type { Query, Result } from './driver.ts'
import type { PostgresTarget } from './postgres-url.ts'

/** One session with the server. Once broken it stays so: whoever needs another opens another. */
export interface PostgresConnection {
  /** Sends all at once and answers in order. Rejects with PostgresFault at the first that fails. */
  run(queries: readonly Query[]): Promise<Answer[]>
  readonly broken: boolean
  /** Says goodbye and waits for the server to hang up, though not for long. */
  end(): Promise<void>
  /** Hangs up. Everything unanswered rejects. */
  destroy(): void
}

export interface Answer extends Result {
  /** As the server names what it did: COMMIT is answered by ROLLBACK if the transaction had failed. */
  command: string
}

/** What went wrong, without the statement and its values: these hold signatures. */
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
  /** The server gives up a statement after so long. */
  statementTimeoutMs: number
}

export interface ConnectionEvents {
  onNotify?(channel: string, payload: string): void
  onClose?(): void
}

const END_LIMIT_SECONDS = 1

/**
 * A connection that is opened by its first query. The client library would open a lost connection again and send
 * there what had queued up, which takes the rest of a transaction for statements of their own: each client here is
 * given one socket, once.
 */
export function createConnection(
  { target, schema, statementTimeoutMs }: PostgresSettings,
  { onNotify, onClose }: ConnectionEvents = {},
): PostgresConnection {
  let socket: Socket | undefined
  let fault: PostgresFault | undefined
  /** Of calls without an answer: the library forgets some of them when a connection ends. */
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
    // Its later errors reach us through the library; one in between must not end the process.
    socket.on('error', () => {})
    Object.assign(socket, { host })
    await once(socket, 'connect')
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
      // An instance that stops in mid-transaction must let go of its rows before others give up waiting for them.
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
              // The server refused a statement and goes on; any other fault ends the session.
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
