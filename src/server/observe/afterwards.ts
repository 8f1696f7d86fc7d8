import { context } from '@opentelemetry/api'

/**
 * Observes what has happened, once whoever waits for it has gone on: a buyer does not wait for our log. Should it fail,
 * what has happened has happened all the same. Traces belong to the moment of the call.
 */
export function afterwards(observe: () => void): void {
  const then = context.bind(context.active(), observe)
  setImmediate(() => {
    try {
      then()
    } catch {
      // Nothing is left to tell it to.
    }
  })
}
