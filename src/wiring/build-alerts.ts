import type { Instruments } from '../backstage.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { Engine } from '../engine/outcome.ts'
import type { AlertKind, Alerts } from '../ports.ts'
import { printable } from '../protocol/printable.ts'

/**
 * Sends alerts to the instruments, or as a line to standard error, to the seller's own function, and to the webhooks once
 * there are any.
 */
export function buildAlerts(
  { onAlert }: ResolvedConfig,
  { alert = alertLine }: Instruments,
  webhooks: () => Engine['events'],
): Alerts {
  return {
    raise(kind, message) {
      try {
        alert(kind, message)
        onAlert?.(kind, message)
        void webhooks()?.alert(kind, message)
      } catch {
        // A failing alert must not cause another failure.
      }
    },
  }
}

function alertLine(alert: AlertKind, message: string): void {
  const line = { level: 'error', time: new Date().toISOString(), alert, message }
  console.error(printable(JSON.stringify(line)))
}
