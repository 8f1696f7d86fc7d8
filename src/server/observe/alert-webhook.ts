import { setTimeout as sleep } from 'node:timers/promises'

export interface AlertMessage {
  kind: string
  message: string
  /** ISO 8601. */
  at: string
  /** How often it was raised, this time included. */
  count: number
}

export interface AlertWebhook {
  /** Returns at once. */
  send(alert: AlertMessage): void
  /** Resolves when the queue is empty. */
  idle(): Promise<void>
}

const TRIES = 3
const MAX_WAITING = 100

/**
 * Posts alerts one after the other, each with up to three tries. A receiver that is slow or down only loses alerts: what
 * does not fit into the queue is dropped, oldest first.
 */
export function createAlertWebhook(options: {
  url(): string | null
  onFailure(reason: string): void
  timeoutMs?: number
  retryAfterMs?: number
}): AlertWebhook {
  const { timeoutMs = 5_000, retryAfterMs = 1_000 } = options
  const waiting: AlertMessage[] = []
  let running: Promise<void> | undefined

  async function post(url: string, alert: AlertMessage): Promise<string | undefined> {
    // `text` is what chat services show; the other members are for programs.
    const text = `paystile ${alert.kind}: ${alert.message}${alert.count > 1 ? ` (${alert.count} times)` : ''}`
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ type: 'Alert', text, ...alert }),
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      })
      await response.body?.cancel()
      return response.ok ? undefined : `it answered ${response.status}`
    } catch (cause) {
      const timedOut = cause instanceof Error && cause.name === 'TimeoutError'
      return timedOut ? `it did not answer within ${timeoutMs / 1000} s` : 'it could not be reached'
    }
  }

  async function deliver(alert: AlertMessage): Promise<void> {
    const url = options.url()
    if (url === null) return
    let fault: string | undefined
    for (let attempt = 1; attempt <= TRIES; attempt++) {
      fault = await post(url, alert)
      if (fault === undefined) return
      if (attempt < TRIES) await sleep(retryAfterMs * attempt, undefined, { ref: false })
    }
    options.onFailure(`the alert webhook did not take ${alert.kind}: ${fault}`)
  }

  async function run(): Promise<void> {
    for (let next = waiting.shift(); next; next = waiting.shift()) await deliver(next)
    running = undefined
  }

  return {
    send(alert) {
      if (options.url() === null) return
      waiting.push(alert)
      if (waiting.length > MAX_WAITING) waiting.shift()
      running ??= run()
    },
    async idle() {
      while (running) await running
    },
  }
}
