import { context } from '@opentelemetry/api'

/** By then the buyer's answer is mostly on its way, and much of what happened is written down in one go. */
const LATER_MS = 10

let waiting: Array<() => void> = []

/**
 * Observes what has happened, a moment later: a buyer does not wait for our log, be it between two steps of its purchase.
 * Should it fail, what has happened has happened all the same. Traces belong to the moment of the call.
 */
export function afterwards(observe: () => void): void {
  if (waiting.length === 0) setTimeout(catchUp, LATER_MS)
  waiting.push(context.bind(context.active(), observe))
}

/** Observes at once whatever still waits. */
export function catchUp(): void {
  const all = waiting
  waiting = []
  for (const observe of all) {
    try {
      observe()
    } catch {
      // Nothing is left to tell it to.
    }
  }
}
