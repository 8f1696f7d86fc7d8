import { randomUUID } from 'node:crypto'
import type { Driver } from './driver.ts'
import type { PostgresConnection, PostgresSettings } from './postgres-connection.ts'
import { createSessions } from './postgres-session.ts'

export type CommittedListener = (challengeIds: readonly string[]) => void

/** Tells other instances which challenges changed. Only a hint, which may be lost; those who wait also poll. */
export interface Wakeups {
  /** Listens to the other instances until the returned function is called. */
  listen(listener: CommittedListener): () => void
  /** Publishes ids soon. Does nothing until this instance listens itself: if it does not, other instances do not either. */
  tell(challengeIds: readonly string[]): void
  close(): Promise<void>
}

/** The server accepts 8,000 bytes per message; ids are ASCII. */
const MESSAGE_LIMIT = 7_500
const BACKLOG_LIMIT = 10_000
const RECONNECT_MS = 1_000
const CHECK_MS = 15_000
const TIMEOUT_MS = 5_000

export function createWakeups(driver: Driver, settings: PostgresSettings): Wakeups {
  const me = randomUUID()
  const channel = `paystile_${settings.schema}`
  const sessions = createSessions({ ...settings, timeoutMs: TIMEOUT_MS })
  const listeners = new Set<CommittedListener>()
  const untold = new Set<string>()
  let telling = false
  let line: PostgresConnection | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function onNotify(_channel: string, payload: string): void {
    const [sender, ...ids] = payload.split('\n')
    if (sender !== me) for (const listener of listeners) listener(ids)
  }

  /** Keeps one connection listening. It is queried regularly, because a dead connection would not be noticed otherwise. */
  async function keepListening(): Promise<void> {
    clearTimeout(timer)
    if (closed || listeners.size === 0) return
    const giveUp = new AbortController()
    const limit = setTimeout(() => giveUp.abort(), TIMEOUT_MS)
    const known = line?.broken === false ? line : undefined
    let current = known
    try {
      current ??= await sessions.open(giveUp.signal, { onNotify })
      giveUp.signal.addEventListener('abort', current.destroy)
      await current.run([{ sql: current === known ? 'SELECT 1' : `LISTEN ${channel}`, params: [] }])
      line = current
    } catch {
      current?.destroy()
    } finally {
      clearTimeout(limit)
    }
    if (closed) return current?.end()
    timer = setTimeout(keepListening, current?.broken === false ? CHECK_MS : RECONNECT_MS)
    timer.unref()
  }

  /** Sends one message at a time; ids that come meanwhile go into the next one. */
  async function tellAll(): Promise<void> {
    telling = true
    while (untold.size > 0) {
      let message = me
      for (const id of untold) {
        if (message.length + id.length >= MESSAGE_LIMIT) break
        message += `\n${id}`
        untold.delete(id)
      }
      try {
        // After the commit and not within it: NOTIFY in a transaction would serialize the commits of all instances.
        await driver.query({ sql: 'SELECT pg_notify(?, ?)', params: [channel, message] })
      } catch {
        // The other instances notice the change by polling.
      }
    }
    telling = false
  }

  return {
    listen(listener) {
      listeners.add(listener)
      if (listeners.size === 1) void keepListening()
      return () => {
        if (!listeners.delete(listener) || listeners.size > 0) return
        void line?.end()
        line = undefined
      }
    },
    tell(challengeIds) {
      if (closed || listeners.size === 0 || untold.size > BACKLOG_LIMIT) return
      for (const id of challengeIds) if (id.length < MESSAGE_LIMIT / 2) untold.add(id)
      if (!telling) void tellAll()
    },
    async close() {
      closed = true
      clearTimeout(timer)
      untold.clear()
      await line?.end()
    },
  }
}
