import { type PostgresConnection, PostgresFault, type PostgresSettings } from './postgres-connection.ts'
import { createSessions } from './postgres-session.ts'

/** A pool of connections, each used by one caller at a time. */
export interface PostgresPool {
  /**
   * Gives `work` a connection until it is done. If it takes longer than `timeoutMs` from `sinceMs` on, whether it waits for a
   * connection, the server or the network, the connection is cut and the call rejects.
   */
  use<T>(sinceMs: number, work: (connection: PostgresConnection) => Promise<T>): Promise<T>
  /** Waits until connections in use are returned. */
  close(): Promise<void>
}

export function createPool(settings: PostgresSettings & { timeoutMs: number; max: number }): PostgresPool {
  const { timeoutMs, max } = settings
  const sessions = createSessions(settings)
  /** The connection used last is used first, since the server's caches for it are warm. */
  let idle: PostgresConnection[] = []
  let count = 0
  let waiters: Array<(connection: PostgresConnection | undefined) => void> = []
  let closing = false
  let emptied: (() => void) | undefined

  /** Of a session that ends while nobody uses it. */
  function dropBroken(): void {
    const usable = idle.filter((connection) => !connection.broken)
    count -= idle.length - usable.length
    idle = usable
  }

  /** An idle connection, or undefined if a new one may be opened. */
  function acquire(giveUp: AbortSignal): Promise<PostgresConnection | undefined> {
    const connection = idle.pop()
    if (connection !== undefined) return Promise.resolve(connection)
    if (count < max) {
      count += 1
      return Promise.resolve(undefined)
    }
    return new Promise((resolve, reject) => {
      waiters.push(resolve)
      giveUp.addEventListener('abort', () => {
        waiters = waiters.filter((other) => other !== resolve)
        reject(giveUp.reason)
      })
    })
  }

  async function release(connection: PostgresConnection | undefined): Promise<void> {
    const usable = connection?.broken === false ? connection : undefined
    const next = waiters.shift()
    if (next !== undefined) return next(usable)
    if (usable !== undefined && !closing) {
      idle.push(usable)
      return
    }
    await connection?.end()
    count -= 1
    if (count === 0) emptied?.()
  }

  return {
    async use(sinceMs, work) {
      if (closing) throw new PostgresFault('08003', 'the connection is closed')
      const leftMs = sinceMs + timeoutMs - performance.now()
      const late = new PostgresFault('timeout', `no answer within ${timeoutMs} ms`)
      if (leftMs <= 0) throw late
      const giveUp = new AbortController()
      const timer = setTimeout(() => giveUp.abort(late), leftMs)
      try {
        let connection = await acquire(giveUp.signal)
        try {
          connection ??= await sessions.open(giveUp.signal, { onClose: dropBroken })
          giveUp.signal.addEventListener('abort', connection.destroy)
          giveUp.signal.throwIfAborted()
          return await work(connection)
        } finally {
          void release(connection)
        }
      } finally {
        clearTimeout(timer)
      }
    },
    async close() {
      closing = true
      const ending = idle
      idle = []
      const empty = new Promise<void>((resolve) => {
        emptied = resolve
      })
      await Promise.all(ending.map((connection) => connection.end()))
      count -= ending.length
      if (count > 0) await empty
    },
  }
}
