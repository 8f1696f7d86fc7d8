import type { Ports } from '../../src/engine/core.ts'
import { createEngine } from '../../src/engine/engine.ts'
import type { Engine, Intent, OfferedTerms, Outcome } from '../../src/engine/outcome.ts'
import type { Alerts, Chain, Clock, RefundSigner, Store } from '../../src/ports.ts'
import type { Address } from '../../src/protocol/hex.ts'
import { createSubmitters } from '../../src/settlement/submitters.ts'
import { createChainPort } from './chain/chain-port.ts'
import { createSimRefundSigner, createSimTxSigner, isSigned, signText } from './keys.ts'
import type { Outside } from './outside.ts'
import { faultyCall, type Host, never } from './ports/faulty-call.ts'
import { createStorePort } from './ports/recorded-store.ts'
import { createSimBackend } from './ports/sim-backend.ts'
import { createSimDelivery } from './ports/sim-delivery.ts'
import { createSimFacilitator } from './ports/sim-facilitator.ts'
import { withPrivateKey } from './secrets.ts'
import { address, PAY_TO, REFUND_WALLET, type World } from './world.ts'

/** A stop waits for what is in hand: a pass of the jobs, whose calls may hang. It never takes as long as this. */
const LONGEST_STOP_MS = 600_000

/**
 * Where half of what belongs together was read before the store lost the other half, or is still remembered; or where
 * two instances were handed the same row at the same version.
 */
const HALF_LOST =
  /names no stored challenge|points to no stored challenge|without a receipt|refund-confirmed cannot happen/

/** One gateway process: the production engine and settlement over simulated ports. */
export interface Instance extends Host {
  /** Undefined: the connection broke, and the buyer knows nothing. */
  ask(intent: Intent): Promise<Outcome | 'broken' | 'error'>
  cancel(challengeId: string, offered?: OfferedTerms): Promise<unknown>
  retryRefund(challengeId: string): Promise<unknown>
  /** Rejects while it cannot sell. */
  ready(): Promise<void>
  /** As on SIGTERM: requests in hand have so much time left, then the engine stops, then the process ends. */
  stop(graceMs: number): Promise<void>
  /** Nothing new reaches it. */
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
  let alive = true
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
    crash(why) {
      if (!alive) return
      world.count('crashes')
      world.note(name, () => `CRASH ${why}`)
      end()
    },
  }
  const engine: Engine = createEngine(createPorts(outside, host, sleeps), outside.config)
  engine.start().catch(() => host.crash('at boot'))

  return {
    ...host,
    get alive() {
      return alive
    },
    get stopping() {
      return stopping
    },
    asleep: () => sleeps.count,
    stop,
    ask: (intent) => answered(() => serve(intent)),
    cancel: (challengeId, offered) => answered(() => engine.cancel(challengeId, 'buyer', offered)),
    retryRefund: (challengeId) => answered(() => engine.retryRefund(challengeId)),
    ready: () => engine.ready(),
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
  async function serve(intent: Intent): Promise<Outcome> {
    const outcome = await engine.purchase(intent)
    if (outcome.kind !== 'paid') return outcome
    const { payment, receipt, lease } = outcome
    const { dice, weather } = world
    world.count('handler calls')
    const fails = !world.calm && dice.chance(weather.deliveryFails)
    if (!world.calm) await scheduler.sleep(dice.skewed(10, 40_000))
    if (!alive) return never()
    await engine.finish(payment.challengeId, lease, fails ? { ok: false, reason: 'it threw' } : { ok: true })
    const resource = { status: fails ? 500 : 200, body: null }
    const { challengeId, requestId, txHash } = payment
    const facts = { challengeId, requestId, routeId: 'weather', txHash, explorerUrl: '', resource }
    return { kind: 'resource', response: { type: 'ResourceResponse', ...facts }, receipt, cached: false }
  }

  async function answered<T>(request: () => Promise<T>): Promise<T | 'broken' | 'error'> {
    if (!alive) return 'broken'
    const broken = new Promise<'broken'>((resolve) => {
      const hangUp = (): void => resolve('broken')
      open.add(hangUp)
      // No buyer waits for ever.
      scheduler.after(90_000, hangUp)
    })
    const answer = request().catch((error: unknown) => {
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
      // The store or the chain is away, or a handler was too slow: honest. Anything else is a bug of the engine.
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
  const { world, chain, mutation, chainIsDown, told } = outside
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
  const direct = mutation.chain(createChainPort(world, chain, outside.staleLooks), chain)
  function call<T>(label: string, effect: () => Promise<T>): Promise<T> {
    outside.chainCalls++
    return faultyCall(world, host, label, effect, chainIsDown)
  }
  const chainPort: Chain = {
    head: () => call('head', () => direct.head()),
    simulate: (auths) => call('simulate', () => direct.simulate(auths)),
    usesIfMined: (keys, fromHeight, hashes) =>
      call('uses', () => direct.usesIfMined(keys, fromHeight, hashes)),
    uses: (keys, fromHeight, hashes) => call('uses', () => direct.uses(keys, fromHeight, hashes)),
    transfers: (txHash) => call('transfers', () => direct.transfers(txHash)),
    mined: (hashes) => call('mined', () => direct.mined(hashes)),
    submit: (raw) => call('submit', () => direct.submit(raw)),
    wallet: (wallet) => call('wallet', () => direct.wallet(wallet)),
  }
  const submitters = createSettlement(outside, host, chainPort, store, clock, alerts)
  const ports: Ports = {
    store,
    chain: chainPort,
    settlement: mutation.settlement(submitters.settlement),
    refundSubmitters: submitters.refundSubmitters.map(mutation.settlement),
    signatures: {
      async check(auth) {
        if (!host.alive) return never()
        const code = chain.token.codes.get(auth.from) ?? 'none'
        const good = isSigned(auth)
        if (code === 'none' || code === 'turns') return good ? 'eoa' : { invalid: 'not signed by the payer' }
        return call('isValidSignature', async () => (good ? 'contract' : { invalid: 'the wallet says no' }))
      },
      async signed(signer, text, signature) {
        return host.alive ? signature === signText(signer, text) : never()
      },
    },
    delivery: createSimDelivery(world, host, outside.issuer),
    backend: createSimBackend(world, host, outside.store),
    refundSigner: refundSigner(outside),
    clock,
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

function refundSigner({ world, mutation }: Outside): RefundSigner | undefined {
  const { refunds } = world.weather
  if (refunds === 'no-key') return undefined
  const signer = createSimRefundSigner(refundWalletIn(world))
  return mutation.refundSigner(withPrivateKey(signer))
}

function refundWalletIn({ weather }: World): Address {
  return weather.refunds === 'seller' ? PAY_TO : REFUND_WALLET
}

function createSettlement(
  outside: Outside,
  host: Host,
  chainPort: Chain,
  store: Store,
  clock: Clock,
  alerts: Alerts,
): ReturnType<typeof createSubmitters> {
  const { world } = outside
  const { strategy, gasWallets, refunds } = world.weather
  const parts = { chain: chainPort, store, clock, alerts }
  const refunder = refunds === 'no-key' ? undefined : withPrivateKey(createSimTxSigner(refundWalletIn(world)))
  if (strategy === 'facilitator') {
    const facilitator = createSimFacilitator(outside, host)
    return createSubmitters(parts, { kind: 'facilitator', facilitator }, refunder)
  }
  const signers = Array.from({ length: gasWallets }, (_, index) =>
    withPrivateKey(createSimTxSigner(address('gaswallt', index + 1))),
  )
  return createSubmitters(parts, { kind: 'gas-wallet', signers }, refunder)
}
