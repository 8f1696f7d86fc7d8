import {
  type Attributes,
  type Context,
  context,
  type Span,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { afterEach, expect, test } from 'vitest'
import type { Engine, Outcome } from '../../backstage.ts'
import type { Payment } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import type { AuditEntry, ChallengeRow, Put } from '../../ports.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { createObserver } from './create-observer.ts'

afterEach(() => trace.disable())

function observe(logLevel = 'debug') {
  const lines: Array<Record<string, unknown>> = []
  const observer = createObserver({
    logLevel,
    alertWebhookUrl: null,
    write: (line) => void lines.push(JSON.parse(line)),
  })
  return { observer, lines }
}

const entry = (event: string, at: number, more: Partial<AuditEntry> = {}): AuditEntry => ({
  ...{ at, challengeId: 'http-1', requestId: 'r-1', event, fromState: 'PENDING', toState: 'PENDING' },
  actor: 'gateway',
  ...more,
})

/** Only `purchase` is used in these tests. */
const engineOf = (purchase: Engine['purchase']): Engine =>
  ({ purchase, rails: () => [] }) as Partial<Engine> as Engine

const offer = { challengeId: 'http-1', requestId: 'r-1' }
const challenge = { kind: 'challenge', offer } as unknown as Outcome

test('committed steps become log lines and metrics; a step with a conflict does not', async () => {
  const { observer, lines } = observe()
  const store = observer.watchStore(createMemoryStore())
  const row = { key: 'k', version: 0, ref: null, dueAt: null, receipt: 'r' }
  const put = { table: 'seen' as const, row }
  await store.commit({ puts: [put], audit: [entry('payment-claimed', 1000)] })
  await store.commit({ puts: [put], audit: [entry('paid', 9000)] })
  await store.commit({ puts: [], audit: [entry('paid', 3500, { txHash: '0xaa', details: { value: '5' } })] })
  await store.commit({ puts: [], audit: [entry('refund-failed', 4000)] })
  expect(lines).toEqual([])
  await observer.close()
  expect(lines).toMatchObject([
    { level: 'debug', event: 'payment-claimed', challengeId: 'http-1', requestId: 'r-1' },
    { level: 'info', event: 'paid', message: 'paid', txHash: '0xaa', details: { value: '5' } },
    { level: 'warn', event: 'refund-failed' },
  ])
  const metrics = await observer.metrics()
  expect(metrics).toContain('svc_settlement_duration_seconds_sum 2.5\n')
  expect(metrics).toContain('svc_refunds_total{outcome="failed"} 1')
})

test('a failing log makes neither a commit nor a purchase fail', async () => {
  const observer = createObserver({
    logLevel: 'trace',
    alertWebhookUrl: null,
    write: () => {
      throw new Error('disk full')
    },
  })
  const store = observer.watchStore(createMemoryStore())
  expect(await store.commit({ puts: [], audit: [entry('paid', 1)] })).toEqual({ kind: 'applied' })
  const engine = observer.watchEngine(engineOf(async () => challenge))
  expect(await engine.purchase({ transport: 'http' })).toBe(challenge)
})

test('purchases are counted by transport, mode and outcome, and errors are passed on', async () => {
  const { observer, lines } = observe('info')
  const outcomes: Array<Outcome | Error> = [
    challenge,
    { kind: 'failed', error: new GatewayError('PAYMENT_FAILED', 'no money', { challengeId: 'http-2' }) },
    new Error('the store is away'),
  ]
  const engine = observer.watchEngine(
    engineOf(async () => {
      const next = outcomes.shift()!
      if (next instanceof Error) throw next
      return next
    }),
  )
  await engine.purchase({ transport: 'http', planId: 'basic' })
  await engine.purchase({ transport: 'mcp', routeId: 'weather', requestId: 'r-2' })
  await expect(engine.purchase({ transport: 'a2a', planId: 'basic' })).rejects.toThrow('the store is away')
  await observer.close()
  expect(lines).toMatchObject([
    {
      level: 'info',
      challengeId: 'http-2',
      requestId: 'r-2',
      outcome: 'PAYMENT_FAILED',
      message: 'no money',
    },
    { level: 'error', outcome: 'error', message: 'the store is away' },
  ])
  const metrics = await observer.metrics()
  expect(metrics).toContain('svc_payments_total{transport="http",mode="subscription",outcome="challenge"} 1')
  expect(metrics).toContain(
    'svc_payments_total{transport="mcp",mode="pay-per-call",outcome="PAYMENT_FAILED"} 1',
  )
  expect(metrics).toContain('svc_payments_total{transport="a2a",mode="subscription",outcome="error"} 1')
  observer.configure({ logLevel: 'debug', alertWebhookUrl: null })
  outcomes.push(challenge)
  await engine.purchase({ transport: 'http' })
  await observer.close()
  expect(lines).toHaveLength(3)
})

test('payments, settlements and refunds are counted by network, and with several networks the log names it', async () => {
  const { observer, lines } = observe('info')
  const store = observer.watchStore(createMemoryStore())
  const rail = 'eip155:137/0x1/exact'
  const settled = { network: 'eip155:137' }
  const error = new GatewayError('PAYMENT_FAILED', 'no money', { challengeId: 'http-1' })
  const engine = observer.watchEngine({
    ...engineOf(async () => ({ kind: 'failed', error, settled })),
    rails: () => [{}, {}] as unknown as ReturnType<Engine['rails']>,
  })
  await engine.purchase({ transport: 'http', planId: 'basic' })
  await store.commit({ puts: [], audit: [entry('payment-claimed', 1000)] })
  const row = { key: 'k', version: 0, ref: 'http-1', dueAt: null, challengeId: 'http-1', rail }
  const receipt = { table: 'receipts', row } as unknown as Put
  await store.commit({ puts: [receipt], audit: [entry('paid', 3500, { txHash: '0xaa' })] })
  const refund = { table: 'refunds', row } as unknown as Put
  await store.commit({ puts: [refund], audit: [entry('refund-failed', 4000)] })
  await observer.close()
  expect(lines).toMatchObject([
    { outcome: 'PAYMENT_FAILED', network: 'eip155:137' },
    { event: 'paid', txHash: '0xaa', network: 'eip155:137' },
    { event: 'refund-failed', network: 'eip155:137' },
  ])
  const metrics = await observer.metrics()
  expect(metrics).toContain('outcome="PAYMENT_FAILED",network="eip155:137"} 1')
  expect(metrics).toContain('svc_settlement_duration_seconds_sum{network="eip155:137"} 2.5')
  expect(metrics).toContain('svc_refunds_total{outcome="failed",network="eip155:137"} 1')
})

test('credits sold are counted by plan, and prepaid calls by what became of them', async () => {
  const { observer } = observe()
  const store = observer.watchStore(createMemoryStore())
  const challenge = { key: 'http-1', version: 0, ref: null, dueAt: null, itemId: 'basic', claimed: true }
  await store.commit({
    puts: [{ table: 'challenges', row: challenge as unknown as ChallengeRow }],
    audit: [entry('delivered', 1000, { details: { credits: 50 } })],
  })
  const debit = { planId: 'basic', charged: 2, remaining: 48 }
  const exhausted = new GatewayError('CREDITS_EXHAUSTED', 'none left')
  const outcomes = [
    { kind: 'prepaid', debit, cached: false },
    { kind: 'prepaid', debit, cached: true },
    { kind: 'prepaid', debit: { ...debit, charged: 0 }, failure: 'down', cached: false },
    { kind: 'failed', error: exhausted },
    { kind: 'reserved' },
  ]
  const engine = observer.watchEngine({
    ...engineOf(async () => {
      throw new Error('not asked')
    }),
    spend: async () => outcomes.shift() as never,
    finishPrepaid: async (_reservation, ok) => (ok ? { remaining: 1 } : { remaining: 2 }),
  })
  while (outcomes.length > 0) await engine.spend({} as never)
  const reservation = { planId: 'basic', credits: 3 } as never
  await engine.finishPrepaid(reservation, true)
  await engine.finishPrepaid(reservation, false)
  const metrics = await observer.metrics()
  expect(metrics).toContain('svc_credits_sold_total{plan="basic"} 50')
  expect(metrics).toContain('svc_credits_spent_total{plan="basic"} 5')
  for (const [outcome, count] of Object.entries({ debited: 2, repeated: 1, 'given-back': 2, exhausted: 1 }))
    expect(metrics).toContain(`svc_prepaid_calls_total{outcome="${outcome}"} ${count}`)
})

test('exactly the documented metrics are offered', async () => {
  const { observer } = observe()
  const names = [...(await observer.metrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
  expect(names.sort()).toEqual([
    'svc_alerts_total',
    'svc_challenges',
    'svc_credits_closed',
    'svc_credits_expired',
    'svc_credits_lost',
    'svc_credits_outstanding',
    'svc_credits_sold_total',
    'svc_credits_spent_total',
    'svc_gas_wallet_balance_eth',
    'svc_payments_total',
    'svc_prepaid_calls_total',
    'svc_rail_available',
    'svc_refunds_total',
    'svc_settlement_duration_seconds',
  ])
})

test('a scrape works although sources fail, and keeps their last values', async () => {
  const { observer } = observe()
  let healthy = true
  observer.setGauges({
    challenges: async () => ({ PAID: 2 }),
    gasWallets: async () => {
      if (!healthy) throw new Error('no chain')
      return [{ network: 'eip155:137', coin: 'POL', address: '0x1', ethWei: 2_500_000_000_000_000_000n }]
    },
    credits: async () => [{ planId: 'basic', outstanding: 30, expired: 7, closed: 8, lost: 2 }],
    rails: () => [
      { network: 'eip155:8453', available: true },
      { network: 'eip155:137', available: false },
    ],
  })
  await observer.metrics()
  healthy = false
  const metrics = await observer.metrics()
  expect(metrics).toContain('svc_challenges{state="PAID"} 2')
  expect(metrics).toContain('svc_gas_wallet_balance_eth{address="0x1",network="eip155:137",coin="POL"} 2.5')
  expect(metrics).toContain('svc_credits_outstanding{plan="basic"} 30')
  expect(metrics).toContain('svc_credits_expired{plan="basic"} 7')
  expect(metrics).toContain('svc_credits_closed{plan="basic"} 8')
  expect(metrics).toContain('svc_credits_lost{plan="basic"} 2')
  expect(metrics).toContain('svc_rail_available{network="eip155:8453"} 1')
  expect(metrics).toContain('svc_rail_available{network="eip155:137"} 0')
})

test('with a tracer there are spans for purchase, settle, deliver and refund, the later ones below their purchase', async () => {
  const spans: Array<{ name: string; parent: unknown; start: unknown; end?: unknown; error: boolean }> = []
  const provider: TracerProvider = {
    getTracer: () => ({
      startActiveSpan: () => undefined as never,
      startSpan(name, options, parent: Context = context.active()) {
        const made: (typeof spans)[number] = {
          name,
          parent: trace.getSpan(parent) && 'purchase',
          start: options?.startTime,
          error: false,
        }
        spans.push(made)
        const span: Partial<Span> = {
          setAttributes: (_attributes: Attributes) => span as Span,
          setStatus: () => {
            made.error = true
            return span as Span
          },
          end(at) {
            made.end = at
          },
        }
        return span as Span
      },
    }),
  }
  trace.setGlobalTracerProvider(provider)
  const { observer } = observe()
  const store = observer.watchStore(createMemoryStore())
  const engine = observer.watchEngine(
    engineOf(async () => {
      await store.commit({ puts: [], audit: [entry('payment-claimed', 1000)] })
      return challenge
    }),
  )
  // An offer has no span.
  await observer.watchEngine(engineOf(async () => challenge)).purchase({ transport: 'http', planId: 'basic' })
  await engine.purchase({
    transport: 'http',
    payment: { key: 'k', rail: 'eip155:137/0x1/exact', claims: [], echo: {} } as unknown as Payment,
  })
  await store.commit({ puts: [], audit: [entry('paid', 2000)] })
  await store.commit({ puts: [], audit: [entry('delivery-failed', 2500)] })
  await store.commit({ puts: [], audit: [entry('refund-confirmed', 9000)] })
  await observer.close()
  expect(spans).toMatchObject([
    { name: 'purchase', error: false },
    { name: 'settle', start: 1000, end: 2000, error: false },
    { name: 'deliver', start: 2000, end: 2500, error: true },
    { name: 'refund', start: 2500, end: 9000, error: false },
  ])
})
