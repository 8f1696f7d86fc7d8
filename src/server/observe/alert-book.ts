import type { AlertKind } from '../../ports.ts'
import type { AlertMessage } from './alert-webhook.ts'

/** The alerts that were raised, newest first, for the banner on /admin. */
export interface AlertBook {
  raise(kind: AlertKind, message: string): void
  list(): AlertMessage[]
  /** Called when the operator has read them. */
  clear(): void
}

interface Entry {
  kind: AlertKind
  message: string
  at: number
  count: number
  toldAt: number
}

const QUIET_MS = 60_000
const MAX_ENTRIES = 200
const MAX_MESSAGE = 1000

/**
 * Keeps each alert once, with a count. The same alert is sent to the log and the webhook at most once a minute, so that a
 * fault which repeats a thousand times a second does not hide the others.
 */
export function createAlertBook(options: {
  now(): number
  clean(text: string): string
  /** Called every time. */
  count(kind: AlertKind): void
  /** Called at most once a minute for the same kind and message. */
  tell(alert: AlertMessage): void
}): AlertBook {
  const entries = new Map<string, Entry>()
  const shown = ({ kind, message, at, count }: Entry): AlertMessage => {
    return { kind, message, at: new Date(at).toISOString(), count }
  }
  return {
    raise(kind, text) {
      const at = options.now()
      const message = options.clean(text).slice(0, MAX_MESSAGE)
      options.count(kind)
      const key = `${kind} ${message}`
      const known = entries.get(key)
      const toldAt = known && at - known.toldAt < QUIET_MS ? known.toldAt : at
      const entry = { kind, message, at, count: (known?.count ?? 0) + 1, toldAt }
      // The map is in order of age: an alert that repeats moves to its end, and the oldest is dropped when there are too many.
      entries.delete(key)
      const oldest = entries.keys().next().value
      if (entries.size >= MAX_ENTRIES && oldest !== undefined) entries.delete(oldest)
      entries.set(key, entry)
      if (toldAt === at) options.tell(shown(entry))
    },
    list: () => [...entries.values()].reverse().map(shown),
    clear: () => entries.clear(),
  }
}
