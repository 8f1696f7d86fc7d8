import type { AuditEntry } from '../facts.ts'
import { DAY_MS } from '../protocol/duration.ts'
import type { EventType } from '../protocol/events.ts'
import { sha256 } from './sha256.ts'

/** How long it is known that an event was delivered. */
export const DELIVERED_KEPT_MS = 30 * DAY_MS

/**
 * Which events a log entry is told as. `once`: the state machine lets it happen to a challenge once at most, so that its id
 * follows from the challenge alone: it stays the same even if a store loses the transition and it happens again.
 */
const TOLD: Readonly<Record<string, { types: readonly EventType[]; once?: true }>> = {
  paid: { types: ['payment.settled'], once: true },
  delivered: { types: ['access.delivered'], once: true },
  // What was paid and cannot be delivered goes back.
  'delivery-failed': { types: ['access.failed', 'refund.pending'], once: true },
  'late-money': { types: ['refund.pending'] },
  'surplus-received': { types: ['refund.pending'] },
  'credits-closed': { types: ['refund.pending'], once: true },
  'refund-retried': { types: ['refund.pending'] },
  'surplus-refund-retried': { types: ['refund.pending'] },
  'credits-refund-retried': { types: ['refund.pending'] },
  'refund-confirmed': { types: ['refund.settled'], once: true },
  'refund-proven': { types: ['refund.settled'], once: true },
  'surplus-refunded': { types: ['refund.settled'] },
  'credits-refunded': { types: ['refund.settled'], once: true },
  'credits-refund-proven': { types: ['refund.settled'], once: true },
  'refund-failed': { types: ['refund.failed'] },
  'surplus-refund-failed': { types: ['refund.failed'] },
  'credits-refund-failed': { types: ['refund.failed'] },
  'receipt-lost': { types: ['payment.lost'] },
  'credits-low': { types: ['credits.low'], once: true },
}

/** An event of a log entry: its type, and the id that it has on every endpoint and every try. */
export interface ToldEvent {
  type: EventType
  id: string
}

export type LoggedFacts = Pick<AuditEntry, 'at' | 'challengeId' | 'event' | 'txHash' | 'details'>

/** The events of a log entry, in the order in which they are told; most entries have none. */
export function eventsOf(entry: LoggedFacts): ToldEvent[] {
  const told = Object.hasOwn(TOLD, entry.event) ? TOLD[entry.event] : undefined
  if (!told || returnsNothing(entry)) return []
  const { at, challengeId, event, txHash = '', details = {} } = entry
  const named = told.once ? [] : [at, event, txHash, Object.entries(details).sort()]
  return told.types.map((type) => ({ type, id: eventId([challengeId, type, ...named]) }))
}

/** An alert that is raised again within the hour, on whatever instance, is the same event. */
export function alertEventId(kind: string, message: string, at: number): string {
  return eventId(['alert.raised', kind, message, Math.floor(at / 3_600_000)])
}

/** Credits that were all spent go back to nobody. */
function returnsNothing({ event, details }: LoggedFacts): boolean {
  return event === 'credits-closed' && details?.value === '0'
}

const eventId = (parts: readonly unknown[]): string => `evt_${sha256(JSON.stringify(parts)).slice(0, 32)}`
