import type { Instruments } from '../backstage.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { Engine } from '../engine/outcome.ts'
import type { AlertKind, Alerts } from '../ports.ts'
import { printable } from '../protocol/printable.ts'

type AlertListener = (kind: AlertKind, message: string) => void

/** The dashboard of an embedded gateway opens after the gateway has started, and maybe failed at something. */
const KEPT_UNTIL_WATCHED = 100

export interface WatchedAlerts extends Alerts {
  /** See Backstage. */
  watch(listener: AlertListener): void
}

/**
 * Sends alerts to the instruments, or as a line to standard error, to the seller's own function, and to the webhooks once
 * there are any.
 */
export function buildAlerts(
  { onAlert }: ResolvedConfig,
  { alert = alertLine }: Instruments,
  webhooks: () => Engine['events'],
): WatchedAlerts {
  const listeners: AlertListener[] = []
  const early: Array<{ kind: AlertKind; message: string }> = []
  return {
    watch(listener) {
      listeners.push(listener)
      for (const { kind, message } of early.splice(0)) listener(kind, message)
    },
    raise(kind, message) {
      try {
        alert(kind, message)
        if (listeners.length === 0) early.push({ kind, message })
        if (early.length > KEPT_UNTIL_WATCHED) early.shift()
        for (const listener of listeners) listener(kind, message)
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
