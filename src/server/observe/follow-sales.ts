import { type Context, context, SpanStatusCode, trace } from '@opentelemetry/api'
import { soldIn } from '../../rules/credit-lot.ts'
import type { Logger } from './create-log.ts'
import type { Metrics } from './create-metrics.ts'
import type { SeenEntry } from './watch-store.ts'

interface Sale {
  /** The trace context of the purchase, so that later spans of the same sale appear below it. */
  parent: Context
  claimedAt?: number
  paidAt?: number
  refundOwedAt?: number
}

const MAX_SALES = 10_000
const QUIET = new Set(['created', 'expired', 'payment-claimed', 'pruned'])
const FAILURES = new Set([
  'payment-abandoned',
  'backend-failed',
  'delivery-failed',
  'refund-failed',
  'surplus-refund-failed',
  'credits-refund-failed',
  'receipt-lost',
])
const REFUND_OUTCOMES: Record<string, 'owed' | 'confirmed' | 'failed'> = {
  'delivery-failed': 'owed',
  'late-money': 'owed',
  'surplus-received': 'owed',
  'refund-confirmed': 'confirmed',
  'refund-proven': 'confirmed',
  'surplus-refunded': 'confirmed',
  'credits-refunded': 'confirmed',
  'credits-refund-proven': 'confirmed',
  'refund-failed': 'failed',
  'surplus-refund-failed': 'failed',
  'credits-refund-failed': 'failed',
}

/** Turns the audit entries that this instance commits into log lines, figures and spans. */
export function createSaleFollower({
  log,
  metrics,
  several,
}: {
  log: Logger
  metrics: Metrics
  /** There are several networks, so that log lines must name theirs. */
  several(): boolean
}) {
  const sales = new Map<string, Sale>()
  const tracer = trace.getTracer('paystile')

  function saleOf(challengeId: string): Sale {
    const known = sales.get(challengeId)
    if (known) return known
    const oldest = sales.keys().next().value
    if (sales.size >= MAX_SALES && oldest !== undefined) sales.delete(oldest)
    const sale: Sale = { parent: context.active() }
    sales.set(challengeId, sale)
    return sale
  }

  /** Records a span that has already ended; its beginning is known from an earlier entry. */
  function span(name: string, from: number | undefined, entry: SeenEntry, parent: Context): void {
    if (from === undefined) return
    const { at, challengeId, requestId, event, txHash, network } = entry
    const attributes = {
      'svc.challenge_id': challengeId,
      'svc.request_id': requestId,
      'svc.event': event,
      ...(txHash !== undefined && { 'svc.tx_hash': txHash }),
      ...(network !== undefined && { 'svc.network': network }),
    }
    const made = tracer.startSpan(name, { startTime: from, attributes }, parent)
    if (FAILURES.has(event)) made.setStatus({ code: SpanStatusCode.ERROR, message: event })
    made.end(at)
  }

  function write(entry: SeenEntry): void {
    const { event, at: _at, network, itemId: _itemId, ...facts } = entry
    const level = FAILURES.has(event) ? 'warn' : QUIET.has(event) ? 'debug' : 'info'
    log[level]({ ...facts, ...(network !== undefined && several() && { network }), event }, event)
  }

  function move(entry: SeenEntry): void {
    const { event, at, challengeId, network } = entry
    const sale = saleOf(challengeId)
    switch (event) {
      case 'payment-claimed':
        sale.claimedAt = at
        sale.parent = context.active()
        return
      case 'payment-abandoned':
        span('settle', sale.claimedAt, entry, sale.parent)
        sales.delete(challengeId)
        return
      case 'paid':
        if (sale.claimedAt !== undefined) {
          metrics.settlement.observe(labels(network, several()), (at - sale.claimedAt) / 1000)
        }
        span('settle', sale.claimedAt, entry, sale.parent)
        sale.paidAt = at
        return
      case 'backend-failed':
        span('deliver', sale.paidAt, entry, sale.parent)
        return
      case 'delivered':
        span('deliver', sale.paidAt, entry, sale.parent)
        sales.delete(challengeId)
        return
      case 'delivery-failed':
      case 'late-money':
        span('deliver', event === 'late-money' ? undefined : sale.paidAt, entry, sale.parent)
        sale.refundOwedAt = at
        return
      case 'refund-confirmed':
      case 'refund-proven':
      case 'refund-failed':
        span('refund', sale.refundOwedAt, entry, sale.parent)
        sales.delete(challengeId)
        return
      case 'refund-retried':
        sale.refundOwedAt = at
    }
  }

  return (entry: SeenEntry): void => {
    write(entry)
    if (entry.event === 'created' || entry.details?.unpaid === true) return
    if (soldIn(entry) > 0) metrics.creditsSold.inc({ plan: entry.itemId ?? '' }, soldIn(entry))
    const outcome = refundOutcome(entry)
    if (outcome) metrics.refunds.inc({ outcome, ...labels(entry.network, several()) })
    move(entry)
  }
}

function refundOutcome({ event, details }: SeenEntry) {
  if (event === 'credits-closed') return details?.value === '0' ? undefined : ('owed' as const)
  return REFUND_OUTCOMES[event]
}

/** With one network, figures need no label for it. */
const labels = (network: string | undefined, several: boolean) =>
  network === undefined || !several ? {} : { network }
