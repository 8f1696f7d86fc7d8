import { context } from '@opentelemetry/api'

/** Most answers have left by then, and everything that happened meanwhile is written in one go. */
const DELAY_MS = 10

let waiting: Array<() => void> = []

/**
 * Runs `observe` a moment later, so that a buyer does not wait for our log. An error in it is ignored: it cannot undo what
 * has happened. Spans keep the trace context of this call.
 */
export function observeLater(observe: () => void): void {
  if (waiting.length === 0) setTimeout(observeNow, DELAY_MS)
  waiting.push(context.bind(context.active(), observe))
}

/** Runs at once whatever still waits. */
export function observeNow(): void {
  const all = waiting
  waiting = []
  for (const observe of all) {
    try {
      observe()
    } catch {
      // The log itself may have failed, so there is nowhere to report it.
    }
  }
}
