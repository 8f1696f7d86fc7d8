/** The stored rows of webhooks. Types only; every layer may import them. */
import type { EventType } from './protocol/events.ts'
import type { RowBase } from './row-base.ts'

/** What an endpoint made of one try. `status` null: there was no answer, and `text` says why. */
export interface WebhookAnswer {
  status: number | null
  /** The beginning of the answer's body. */
  text: string
}

/** WAITING: it is sent, again and again if need be. PARKED: it was tried for days; the operator may resend it. */
export type WebhookPhase = 'WAITING' | 'DELIVERED' | 'PARKED'

/** The transition that an event tells of, or the alert: what its body is made of. */
export interface ToldFacts {
  /** When it happened (ms). */
  at: number
  /** As in the log; an alert has none. */
  event?: string
  state?: string | null
  txHash?: string
  details?: Record<string, string | number | boolean | null>
  /** Of an alert. */
  alert?: { kind: string; message: string }
}

/**
 * key = `<endpoint>/<eventId>`: an event is stored once for each endpoint, in the step of its transition. ref = while it
 * is WAITING `<endpoint>/<challengeId>`, because those go out in order; `parked` once it is PARKED. dueAt = the next
 * try; afterwards when the row may be removed.
 */
export interface WebhookRow extends RowBase {
  /** Computed from the endpoint's URL. */
  endpoint: string
  eventId: string
  type: EventType
  /** Empty for an alert. */
  challengeId: string
  requestId: string
  facts: ToldFacts
  phase: WebhookPhase
  /** The tries of this round: resending begins another one. */
  attempts: number
  /** When this round began (ms). */
  since: number
  /** The last tries, the newest last. */
  answers: Array<WebhookAnswer & { at: number }>
}
