import type { GatewayError } from '../../errors.ts'
import type { AlertKind, AuditEntry, WebhookAnswer, WebhookEndpoint, WebhookRow } from '../../ports.ts'
import type { WebhookBody } from '../../protocol/events.ts'

/** Which events are sent again. */
export interface Resend {
  /** Only to this endpoint. */
  endpoint?: string | undefined
  /** Only those that were tried in vain for days, and those that no endpoint had been there for. */
  undelivered?: boolean | undefined
}

/** What an operator may do with webhooks. */
export interface EventsControl {
  readonly endpoints: readonly WebhookEndpoint[]
  /** The body that this row is or was sent with. */
  bodyOf(row: WebhookRow): Promise<WebhookBody>
  /** Sends one event again, under its own id. */
  resend(key: string): Promise<WebhookRow | GatewayError>
  /** Sends the events of these log entries again, also where the endpoint was not yet there; returns how many. */
  resendLogged(entries: readonly AuditEntry[], which: Resend): Promise<number>
  /** Sends an example now, and returns the answer. */
  test(endpoint: string): Promise<WebhookAnswer | GatewayError>
  /** Tells the endpoints of an alert. Never rejects. */
  alert(kind: AlertKind, message: string): Promise<void>
}
