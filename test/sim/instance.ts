import type { Ports } from '../../src/engine/core.ts'
import { createEngine } from '../../src/engine/engine.ts'
import type { Engine, Intent, Outcome } from '../../src/engine/outcome.ts'
import { GatewayError } from '../../src/errors.ts'
import type { Alerts, Clock } from '../../src/ports.ts'
import {
  readIntent,
  readOffered,
  type WireIntent,
  type WireOutcome,
  type WireTerms,
  writeOutcome,
} from './buyers/wire.ts'
import { checkOffer } from './invariants/offers.ts'
import type { Outside } from './outside.ts'
import { type Host, never } from './ports/faulty-call.ts'
import { createStorePort } from './ports/recorded-store.ts'
import { createSimBackend } from './ports/sim-backend.ts'
import { createSimDelivery } from './ports/sim-delivery.ts'
import { createSimEndpoint } from './ports/sim-endpoint.ts'
import { createSimSigner } from './ports/sim-receipts.ts'
import { createSimStream } from './ports/sim-stream.ts'
import { type PrepaidReply, servePrepaid, type WireCall } from './prepaid.ts'
import { createSimRails, simMpp } from './rails.ts'
import { METERED_ROUTE, type World } from './world.ts'

/**
 * A stop waits for work in progress, such as a pass of the jobs whose calls may hang. It never takes as long as this.
 */
const LONGEST_STOP_MS = 600_000

/**
 * Errors that may occur if half of the rows that belong together were read before the store lost the other half, or
 * are still in memory, or if two instances got the same row at the same version.
 */
const HALF_LOST =
  /names no stored challenge|points to no stored challenge|without a receipt|refund-confirmed cannot happen/

/** One gateway process: the production engine and settlement over simulated ports. */
export interface Instance extends Host {
  /** Undefined: the connection broke, and the buyer knows nothing. */
  ask(intent: WireIntent): Promise<WireOutcome | 'broken' | 'error'>
  spend(call: WireCall): Promise<PrepaidReply | 'broken' | 'error'>
  cancel(challengeId: string, offered?: WireTerms): Promise<unknown>
  retryRefund(challengeId: string): Promise<unknown>
  /** On how many rails it offers a plan now. */
  offeredRails(): number
  /** Rejects while it cannot sell. */
  ready(): Promise<void>
  /** Like SIGTERM: running requests have this much time left, then the engine stops, then the process ends. */
  stop(graceMs: number): Promise<void>
  /** It gets no new requests. */
  readonly stopping: boolean
  /** How many waits of the engine have not ended. */
  asleep(): number
}

/** Waits that one engine has begun and that have not ended. */
interface Sleeps {
  count: number
}

export function startInstance(outside: Outside, name: string, onEnd: () => void): Instance {
  const { world } = outside
  const { scheduler } = world
  const open = new Set<() => void>()
  const inHand = new Set<Promise<unknown>>()
  const sleeps: Sleeps = { count: 0 }
  const bornAt = scheduler.now()
  let alive = true
  let starting = true
  let stopping = false

  function end(): void {
    alive = false
    for (const hangUp of open) hangUp()
    onEnd()
  }

  const host: Host = {
    name,
    get alive() {
      return alive
    },
    get starting() {
      return starting
    },
    crash(why) {
      if (!alive) return
      world.count('crashes')
      world.note(name, () => `CRASH ${why}`)
      end()
    },
  }
  const ports = createPorts(outside, host, sleeps)
  const engine: Engine = createEngine(ports, outside.config)
  const dialects = { x402: outside.x402, mpp: simMpp(outside.chains, ports.clock.now) }
  engine.start().then(
    () => {
      starting = false
    },
    () => host.crash('at boot'),
  )

  return {
    ...host,
    get alive() {
      return alive
    },
    get starting() {
      return starting
    },
    get stopping() {
      return stopping
    },
    asleep: () => sleeps.count,
    stop,
    ask: (intent) => answered(() => serve(intent)),
    spend: (call) => answered(() => servePrepaid(engine, outside, host, ports.clock.now, call)),
    cancel: (challengeId, offered) =>
      answered(() => engine.cancel(challengeId, 'buyer', offered && readOffered(outside.x402, offered))),
    retryRefund: (challengeId) => answered(() => engine.retryRefund(challengeId)),
    ready: () => engine.ready(),
    offeredRails() {
      const outcome = engine.offer({ transport: 'http', planId: 'basic' })
      return outcome?.kind === 'challenge' ? outcome.offer.rails.length : 0
    },
  }

  async function stop(graceMs: number): Promise<void> {
    if (!alive || stopping) return
    stopping = true
    world.count('graceful stops')
    if (inHand.size > 0) world.count('stops with requests in hand')
    world.note(name, () => `STOP with ${inHand.size} requests in hand`)
    await Promise.race([Promise.all(inHand), scheduler.sleep(graceMs)])
    if (!alive) return
    scheduler.after(LONGEST_STOP_MS, () => {
      if (alive) world.violate('I12', `${name} never stops`)
    })
    await engine.stop()
    if (!alive) return
    world.note(name, () => 'STOPPED')
    end()
  }

  /** As the adapters do it: the seller's handler runs after the payment, and its answer goes out once that is recorded. */
  async function serve(intent: WireIntent): Promise<WireOutcome> {
    const read = readIntent(dialects, intent)
    if (read instanceof GatewayError) return { kind: 'failed', error: read }
    const outcome = outside.mutation.answer(await engine.purchase(withStream(read)), intent, engine)
    const offer = 'offer' in outcome ? outcome.offer : undefined
    if (offer) checkOffer(outside, scheduler.now() - bornAt, offer)
    checkShown(outcome)
    if (outcome.kind !== 'paid') return writeOutcome(dialects, outcome)
    const { payment, settled, lease, signReceipt } = outcome
    const { dice, weather } = world
    world.count('handler calls')
    const end = await outside.paidCalls.begin(payment.challengeId, host)
    const fails = !world.calm && dice.chance(weather.deliveryFails)
    if (!world.calm) await scheduler.sleep(dice.skewed(10, 40_000))
    if (!alive) return never()
    end()
    // As with Express: the receipt is signed when the head goes out, and stored afterwards.
    const result = fails
      ? { ok: false as const, reason: 'it threw' }
      : { ok: true as const, receipt: signReceipt?.() }
    if (!world.calm) await scheduler.sleep(dice.skewed(1, 4_000))
    if (!alive) return never()
    await engine.finish(payment.challengeId, lease, result)
    const resource = { status: fails ? 500 : 200, body: null }
    const { challengeId, requestId, txHash } = payment
    const facts = { challengeId, requestId, routeId: 'weather', txHash, explorerUrl: '', resource }
    const response = { type: 'ResourceResponse' as const, ...facts }
    return writeOutcome(dialects, { kind: 'resource', response, settled, cached: false })
  }

  /** A direct call of a metered route may be answered as the answer comes. */
  function withStream(intent: Intent): Intent {
    const isMetered = intent.routeId === METERED_ROUTE.routeId && intent.call !== undefined
    if (!isMetered || !world.weather.streams || !intent.payment) return intent
    return {
      ...intent,
      call: { ...intent.call!, stream: createSimStream(world, outside.chains, outside.meter) },
    }
  }

  /** I18: a receipt that a buyer sees is one that is stored, and only what was delivered has one. */
  function checkShown(outcome: Outcome): void {
    const settled = 'settled' in outcome ? outcome.settled : undefined
    if (outcome.kind === 'resource' && outcome.response.resource.status === 200)
      outside.meter.checkAnswer(outcome.response.resource.body, settled?.amount)
    const receipt = settled && 'receipt' in settled ? settled.receipt : undefined
    if (receipt === undefined) return
    world.count('receipts shown')
    if (!outside.signed.stored.has(receipt)) world.violate('I18', 'a buyer saw a receipt that is not stored')
    if (outcome.kind !== 'granted' && outcome.kind !== 'resource')
      world.violate('I18', `an answer of kind ${outcome.kind} has a receipt`)
  }

  async function answered<T>(request: () => Promise<T>): Promise<T | 'broken' | 'error'> {
    if (!alive) return 'broken'
    const broken = new Promise<'broken'>((resolve) => {
      const hangUp = (): void => resolve('broken')
      open.add(hangUp)
      // No buyer waits without limit.
      scheduler.after(90_000, hangUp)
    })
    const answer = request().catch((error: unknown) => {
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
      // Expected if the store or the chain is down, or a handler was too slow. Anything else is a bug of the engine.
      const honest = /^(UnavailableError|GatewayError)/.test(text) || isHalfLost(world, text)
      if (!honest) world.violate('THROWS', text)
      return 'error' as const
    })
    inHand.add(answer)
    void answer.then(() => inHand.delete(answer))
    return Promise.race([answer, broken])
  }
}

function isHalfLost(world: World, text: string): boolean {
  return world.counters.has('store losses') && HALF_LOST.test(text)
}

function createPorts(outside: Outside, host: Host, sleeps: Sleeps): Ports {
  const { world, mutation, told } = outside
  const { dice, weather, scheduler } = world
  const skewMs = dice.int(-weather.maxSkewMs, weather.maxSkewMs)
  const clock: Clock = {
    now: () => scheduler.now() + (world.calm ? 0 : skewMs),
    sleep(ms) {
      sleeps.count++
      return new Promise((resolve) =>
        scheduler.after(ms, () => {
          sleeps.count--
          if (host.alive) resolve()
        }),
      )
    },
    requestsSent: () => clock.sleep(0),
  }
  const alerts: Alerts = {
    raise(kind, message) {
      world.count(`alert ${kind}`)
      outside.alerts.push(`${kind} ${message}`)
      world.note(host.name, () => `ALERT ${kind} ${message}`)
      const expected =
        kind !== 'job-failed' ||
        message.includes('unavailable') ||
        message.includes('the RPC answers') ||
        isHalfLost(world, message)
      if (!expected) world.violate('THROWS', message)
    },
  }
  const store = createStorePort(world, host, outside.store)
  const backend = createSimBackend(world, host, outside.store, outside.meter, outside.paidCalls)
  const ports: Ports = {
    store,
    rails: createSimRails(outside, host, { store, clock, alerts }),
    delivery: createSimDelivery(world, host, outside.issuer),
    backend,
    // A metered call of the seller's own handler goes the same way.
    handlers: backend,
    receipts: createSimSigner(outside.signatures),
    clock,
    ...(weather.webhooks && { webhooks: createSimEndpoint(world, host, outside.arrived) }),
    random: mutation.random({ bytes: (length) => dice.bytes(length) }),
    alerts,
    hooks: {
      async onPaymentReceived({ challengeId }) {
        if (!world.calm && dice.chance(0.1)) throw new Error('the seller is asleep')
        told.add(`paid ${challengeId}`)
      },
      async onRefund({ challengeId }) {
        told.add(`refunded ${challengeId}`)
      },
    },
  }
  return mutation.ports(ports, outside)
}
