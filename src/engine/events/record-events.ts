import type { AuditEntry, Put, Store, ToldFacts, WebhookEndpoint, WebhookRow } from '../../ports.ts'
import type { EventType } from '../../protocol/events.ts'
import { eventsOf, type ToldEvent } from '../../rules/events.ts'

/**
 * The same store; a step whose log entries are events also inserts a row per event and endpoint. They are one atomic step,
 * so that no transition is without its event, on whatever store and however many instances; and no other code can
 * forget it.
 */
export function recordingEvents(store: Store, endpoints: readonly WebhookEndpoint[]): Store {
  return {
    ...store,
    async commit(step) {
      const told = (step.audit ?? []).flatMap((entry) => eventPuts(entry, endpoints))
      if (told.length === 0) return store.commit(step)
      // A step that names one row twice is refused: entries that are alike are one event.
      const once = new Map(told.map((put) => [put.row.key, put]))
      for (;;) {
        const result = await store.commit({ ...step, puts: [...step.puts, ...once.values()] })
        // An event that is stored already, for example because the operator sent a range of the log, must not hold up the
        // transition: it is told as it is.
        if (result.kind === 'applied' || result.table !== 'webhooks' || !once.delete(result.key))
          return result
      }
    },
  }
}

function eventPuts(entry: AuditEntry, endpoints: readonly WebhookEndpoint[]): Put[] {
  return eventsOf(entry).flatMap((event) =>
    endpoints
      .filter((endpoint) => wants(endpoint, event.type))
      .map((endpoint): Put => ({ table: 'webhooks', row: eventRow(endpoint.id, entry, event, entry.at) })),
  )
}

export function wants({ events }: WebhookEndpoint, type: EventType): boolean {
  return events === null || events.includes(type)
}

export const webhookKey = (endpoint: string, eventId: string): string => `${endpoint}/${eventId}`

/** Events of one challenge go to an endpoint in order; those under one ref are still to be sent. */
export const waitingRef = (endpoint: string, challengeId: string): string => `${endpoint}/${challengeId}`

/** A new row that is due at once. */
export function eventRow(
  endpoint: string,
  entry: AuditEntry,
  { id, type }: ToldEvent,
  now: number,
): WebhookRow {
  const { at, challengeId, requestId, event, toState, txHash, details } = entry
  const facts: ToldFacts = {
    at,
    event,
    state: toState,
    ...(txHash !== undefined && { txHash }),
    ...(details !== undefined && { details }),
  }
  return {
    key: webhookKey(endpoint, id),
    version: 0,
    ref: waitingRef(endpoint, challengeId),
    dueAt: now,
    endpoint,
    eventId: id,
    type,
    challengeId,
    requestId,
    facts,
    phase: 'WAITING',
    attempts: 0,
    since: now,
    answers: [],
  }
}
