/** What sellers can be told by webhooks. */
export const EVENT_TYPES = [
  'payment.settled',
  'payment.lost',
  'access.delivered',
  'access.failed',
  'refund.pending',
  'refund.settled',
  'refund.failed',
  'credits.low',
  'alert.raised',
] as const

/** The type of an event, as a webhook names it. */
export type EventType = (typeof EVENT_TYPES)[number]

/** The body of a webhook. */
export interface WebhookBody {
  /** One of {@link EVENT_TYPES}, or `webhook.test`. */
  type: string
  /** When it happened (ISO 8601); the same on every try. */
  timestamp: string
  data: Record<string, unknown>
}
