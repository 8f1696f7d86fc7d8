import { context, type Span, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Engine, Intent, Outcome, PrepaidOutcome } from '../../backstage.ts'
import { networkOfRail } from '../../rules/rail-id.ts'
import type { Logger } from './create-log.ts'
import type { Metrics } from './create-metrics.ts'
import { observeLater } from './observe-later.ts'

type Level = 'debug' | 'info' | 'warn' | 'error'

const SERIOUS = new Set(['INTERNAL_ERROR', 'DELIVERY_FAILED'])

/** The same engine, but every purchase is counted and, if it carries a payment, recorded as a span and a log line. */
export function watchEngine(
  engine: Engine,
  { log, metrics, several }: { log: Logger; metrics: Metrics; several(): boolean },
): Engine {
  const tracer = trace.getTracer('paystile')

  function note(watched: Watched, level: Level, ids: Ids, outcome: string, message: string): void {
    const { intent, startedMs, span } = watched
    const { transport } = intent
    const mode = modeOf(intent)
    const network = networkOf(watched)
    const ms = Math.round(performance.now() - startedMs)
    span?.setAttributes({ 'svc.outcome': outcome, ...spanIds(ids) })
    if (message !== 'purchase') span?.setStatus({ code: SpanStatusCode.ERROR, message: outcome })
    observeLater(() => {
      const where = network !== undefined && several() ? { network } : {}
      metrics.payments.inc({ transport, mode, outcome, ...where })
      log[level]({ ...ids, transport, mode, ...where, outcome, ms }, message)
    })
  }

  function noteOutcome(watched: Watched, outcome: Outcome): void {
    const { intent, span } = watched
    if (!span && outcome.kind === 'challenge' && !log.isLevelEnabled('debug')) {
      metrics.countOffer(intent.transport, modeOf(intent))
      return
    }
    const name = outcomeName(outcome)
    const level = SERIOUS.has(name) ? 'warn' : outcome.kind === 'challenge' ? 'debug' : 'info'
    const message = outcome.kind === 'failed' ? outcome.error.message : 'purchase'
    const settledOn = 'settled' in outcome ? outcome.settled?.network : undefined
    quietly(() => note({ ...watched, settledOn }, level, idsOf(intent, outcome), name, message))
  }

  return {
    ...engine,
    offer(intent) {
      const startedMs = performance.now()
      const outcome = engine.offer(intent)
      if (outcome) noteOutcome({ intent, startedMs }, outcome)
      return outcome
    },
    async spend(intent) {
      const outcome = await engine.spend(intent)
      quietly(() => countPrepaid(metrics, outcome))
      return outcome
    },
    async finishPrepaid(reservation, ok) {
      const finished = await engine.finishPrepaid(reservation, ok)
      const { planId, credits } = reservation
      if (!ok) metrics.countPrepaid('given-back')
      else if ('remaining' in finished) metrics.countPrepaid('debited', { planId, credits })
      else metrics.countPrepaid(finished.code)
      return finished
    },
    async purchase(intent) {
      const startedMs = performance.now()
      const attributes = { 'svc.transport': intent.transport, 'svc.mode': modeOf(intent) }
      // No span for an offer: there are many, and a span would cost more than the offer itself.
      const isPaying = intent.payment || intent.proof
      const span = isPaying ? tracer.startSpan('purchase', { attributes }) : undefined
      const watched: Watched = { intent, startedMs, span }
      try {
        const outcome = span
          ? await context.with(trace.setSpan(context.active(), span), () => engine.purchase(intent))
          : await engine.purchase(intent)
        noteOutcome(watched, outcome)
        return outcome
      } catch (cause) {
        const message = cause instanceof Error ? cause.message : 'unknown'
        quietly(() => note(watched, 'error', idsOf(intent), 'error', message))
        throw cause
      } finally {
        quietly(() => span?.end())
      }
    },
  }
}

/** A call of an embedded route is counted when its handler has ended. */
function countPrepaid(metrics: Metrics, outcome: PrepaidOutcome): void {
  if (outcome.kind === 'failed') {
    const { code } = outcome.error
    metrics.countPrepaid(code === 'CREDITS_EXHAUSTED' ? 'exhausted' : code)
  } else if (outcome.kind === 'prepaid') {
    const { planId, charged } = outcome.debit
    if (outcome.cached) metrics.countPrepaid('repeated')
    else if (outcome.failure !== undefined) metrics.countPrepaid('given-back')
    else metrics.countPrepaid('debited', { planId, credits: charged })
  }
}

interface Watched {
  intent: Intent
  startedMs: number
  /** Absent if nothing had to be paid. */
  span?: Span | undefined
  /** The network on which the payment was settled. */
  settledOn?: string | undefined
}

/** The network of the payment; undefined while there is none. */
function networkOf({ intent, settledOn }: Watched): string | undefined {
  return settledOn ?? (intent.payment && networkOfRail(intent.payment.rail))
}

/** A buyer who has paid must get an answer even if the log fails. */
function quietly(observe: () => void): void {
  try {
    observe()
  } catch {
    // The log itself has failed, so there is nowhere to report it.
  }
}

function modeOf(intent: Intent): 'subscription' | 'pay-per-call' {
  const { routeId, call, embedded, payment } = intent
  const route = routeId ?? payment?.echo.routeId
  return route !== undefined || call || embedded ? 'pay-per-call' : 'subscription'
}

/** The outcome as a metrics label: `challenge` for a 402, the error code for a failure. */
function outcomeName(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'challenge':
    case 'paid':
      return outcome.kind
    case 'granted':
      return outcome.cached ? 'cached' : 'delivered'
    case 'resource': {
      const { status } = outcome.response.resource
      if (status < 200 || status >= 300) return 'undelivered'
      return outcome.cached ? 'cached' : 'delivered'
    }
    case 'failed':
      return outcome.error.code
  }
}

interface Ids {
  challengeId?: string | undefined
  requestId?: string | undefined
}

function idsOf(intent: Intent, outcome?: Outcome): Ids {
  const asked = { challengeId: intent.challengeId, requestId: intent.requestId }
  switch (outcome?.kind) {
    case 'challenge':
      return { challengeId: outcome.offer.challengeId, requestId: outcome.offer.requestId }
    case 'granted':
      return { challengeId: outcome.grant.challengeId, requestId: outcome.grant.requestId }
    case 'resource':
      return { challengeId: outcome.response.challengeId, requestId: outcome.response.requestId }
    case 'paid':
      return { challengeId: outcome.payment.challengeId, requestId: outcome.payment.requestId }
    case 'failed':
      return { ...asked, challengeId: outcome.error.details.challengeId ?? asked.challengeId }
    default:
      return asked
  }
}

function spanIds({ challengeId, requestId }: Ids): Record<string, string> {
  return {
    ...(challengeId !== undefined && { 'svc.challenge_id': challengeId }),
    ...(requestId !== undefined && { 'svc.request_id': requestId }),
  }
}
