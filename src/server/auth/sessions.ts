import { randomBytes } from 'node:crypto'

export interface Session {
  id: string
  csrf: string
  expiresAt: number
}

export interface Sessions {
  open(nowMs: number): Session
  find(id: string, nowMs: number): Session | undefined
  end(id: string): void
  /** Ends all sessions but this one. */
  endOthers(id: string | undefined): void
}

export const SESSION_SECONDS = 12 * 3600
const MAX_SESSIONS = 100

/** Sessions of logged-in operators, kept in memory: a restart ends them. */
export function createSessions(): Sessions {
  const open = new Map<string, Session>()
  return {
    open(nowMs) {
      for (const [id, { expiresAt }] of open) if (expiresAt <= nowMs) open.delete(id)
      const oldest = open.keys().next()
      if (open.size >= MAX_SESSIONS && !oldest.done) open.delete(oldest.value)
      const session = {
        id: randomBytes(32).toString('base64url'),
        csrf: randomBytes(32).toString('base64url'),
        expiresAt: nowMs + SESSION_SECONDS * 1000,
      }
      open.set(session.id, session)
      return session
    },
    find(id, nowMs) {
      const session = open.get(id)
      return session && session.expiresAt > nowMs ? session : undefined
    },
    end: (id) => void open.delete(id),
    endOthers(kept) {
      for (const id of open.keys()) if (id !== kept) open.delete(id)
    },
  }
}
