import { isLastingTlsFault, reasonOf } from '../../reason-of.ts'
import {
  type ConnectionEvents,
  createConnection,
  type PostgresConnection,
  PostgresFault,
  type PostgresSettings,
} from './postgres-connection.ts'
import type { PostgresPlace } from './postgres-url.ts'

/** Opens sessions with the server that accepts writes. */
export interface PostgresSessions {
  /** Rejects when no server does, or when `giveUp` is aborted, which also cuts the session that was opened. */
  open(giveUp: AbortSignal, events?: ConnectionEvents): Promise<PostgresConnection>
}

/**
 * Of several servers the one that was found last is asked first, so that after a failover each looks for the new primary
 * once. One that does not answer gets its share of the time only: the next must have some left.
 */
export function createSessions(settings: PostgresSettings & { timeoutMs: number }): PostgresSessions {
  const { target, timeoutMs } = settings
  const places: readonly PostgresPlace[] = [target, ...(target.others ?? [])]
  let found = 0

  async function openAt(place: PostgresPlace, giveUp: AbortSignal, events: ConnectionEvents | undefined) {
    const connection = createConnection({ ...settings, target: { ...target, ...place } }, events)
    giveUp.addEventListener('abort', connection.destroy)
    const limit = setTimeout(connection.destroy, timeoutMs / places.length)
    try {
      await greet(connection)
      return connection
    } finally {
      clearTimeout(limit)
    }
  }

  return {
    async open(giveUp, events) {
      const faults: Fault[] = []
      for (const offset of places.keys()) {
        giveUp.throwIfAborted()
        const index = (found + offset) % places.length
        const place = places[index]!
        try {
          const connection = await openAt(place, giveUp, events)
          found = index
          return connection
        } catch (error) {
          faults.push({ place, error })
        }
      }
      throw worstOf(faults)
    },
  }
}

interface Fault {
  place: PostgresPlace
  error: unknown
}

/** Wrong credentials are worth more than a server that is a standby, or is down, as it may be. */
function worstOf(faults: readonly Fault[]): unknown {
  const errors = faults.map(({ error }) => error)
  const refused = (error: unknown) => error instanceof PostgresFault && /^(28|3D)/.test(error.code)
  const isMixed = errors.some(isLastingTlsFault) && !errors.every(isLastingTlsFault)
  return errors.find(refused) ?? (isMixed ? mixed(faults) : errors[0])
}

/** A server whose TLS is at fault may be another than the primary, which comes back: so this is no lasting fault, and names both. */
function mixed(faults: readonly Fault[]): PostgresFault {
  const told = faults.map(({ place, error }) => `${place.host}:${place.port} ${reasonOf(error)}`)
  return new PostgresFault('08001', told.join('; '))
}

/** Checks a session before it is used, and makes its commits wait for the disk and for synchronous standbys. */
async function greet(connection: PostgresConnection): Promise<void> {
  const sql = `SELECT pg_is_in_recovery() AS standby, set_config('synchronous_commit',
    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
      ELSE current_setting('synchronous_commit') END, false)`
  try {
    const [answer] = await connection.run([{ sql, params: [] }])
    // A standby lags behind the primary: payments that it does not have yet would look unpaid.
    if (answer!.rows[0]?.standby) throw new PostgresFault('25006', 'the server is a read-only standby')
  } catch (error) {
    connection.destroy()
    throw error
  }
}
