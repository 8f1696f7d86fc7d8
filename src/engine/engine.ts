import { GatewayError } from '../errors.ts'
import { parseChallengeId } from '../rules/challenge-id.ts'
import { createBroadcaster } from './broadcast.ts'
import { cancelChallenge } from './cancel-challenge.ts'
import { createChainHead } from './chain-head.ts'
import { type Core, type EngineConfig, getOne, type Ports } from './core.ts'
import { finishEmbedded, renewLease } from './deliver-route.ts'
import { inspect, statusOf, watch } from './inspect.ts'
import { runJobs, voidLeases } from './jobs.ts'
import { createUnpaidLog } from './log-unpaid.ts'
import { lookAtChain } from './look-at-chain.ts'
import { offerTerms, openChallenge } from './open-challenge.ts'
import type { Engine, Intent, Outcome } from './outcome.ts'
import { createPayerRoom } from './payer-room.ts'
import { proveRefund } from './prove-refund.ts'
import { redeemPayment } from './redeem-payment.ts'
import { redeemTransfer } from './redeem-transfer.ts'
import { createResolver } from './resolve.ts'
import { createRetention } from './retention.ts'
import { retryRefund } from './retry-refund.ts'
import { createSignals, withResolvers } from './signals.ts'

/** The one engine behind every transport: ports in, outcomes out. */
export function createEngine(ports: Ports, config: EngineConfig): Engine {
  const core: Core = {
    ...ports,
    config,
    signals: createSignals(),
    head: createChainHead(ports),
    payers: createPayerRoom(ports.clock, config.payerFailuresPerMinute),
    unpaidLog: createUnpaidLog(ports.clock),
    told: new Set(),
  }
  const unsubscribe = core.store.onCommitted?.((ids) => ids.forEach(core.signals.notify))
  const resolver = createResolver(core)
  const broadcaster = createBroadcaster(core, resolver)
  const markOld = createRetention(core)
  let jobs: Promise<void> | undefined
  let stopped = false
  const stopping = withResolvers()

  async function pass(): Promise<void> {
    await runJobs(core, resolver)
    await markOld()
  }

  async function loop(): Promise<void> {
    while (!stopped) {
      await pass()
      if (!stopped) await Promise.race([core.clock.sleep(config.jobIntervalMs), stopping.promise])
    }
  }

  function offer(intent: Intent): Outcome | undefined {
    const unserved = unservedRoute(core, intent)
    return unserved ? { kind: 'failed', error: unserved } : offerTerms(core, intent)
  }

  return {
    offer,
    async purchase(intent: Intent): Promise<Outcome> {
      const offered = offer(intent)
      if (offered) return offered
      const { payment, proof } = intent
      if (proof) return redeemTransfer(core, { ...intent, proof })
      if (payment) return redeemPayment(core, broadcaster, { ...intent, payment })
      return openChallenge(core, intent)
    },
    async status(challengeId) {
      const challenge = await getOne(core, 'challenges', challengeId)
      if (challenge) return statusOf(challenge)
      const parsed = parseChallengeId(challengeId)
      if (!parsed) return undefined
      const state = core.clock.now() < parsed.expiresAt ? 'PENDING' : 'EXPIRED'
      return { challengeId, state, expiresAt: new Date(parsed.expiresAt).toISOString() }
    },
    inspect: (challengeId) => inspect(core, challengeId),
    watch: (challengeId, signal) => watch(core, challengeId, signal),
    renew: (challengeId, lease) => renewLease(core, challengeId, lease),
    finish: (challengeId, lease, result) => finishEmbedded(core, challengeId, lease, result),
    cancel: (challengeId, actor, offered) => cancelChallenge(core, challengeId, actor, offered),
    retryRefund: (challengeId) => retryRefund(core, challengeId),
    proveRefund: (challengeId, txHash) => proveRefund(core, challengeId, txHash),
    async ready() {
      await lookAtChain(core, [])
    },
    runJobs: pass,
    async start() {
      if (core.store.exclusive) await voidLeases(core)
      jobs ??= loop()
    },
    async stop() {
      stopped = true
      stopping.resolve()
      unsubscribe?.()
      resolver.stop()
      await Promise.all([jobs, resolver.idle()])
    },
  }
}

/** Without a backend routes are the seller's own handlers': only there can a payment buy something. */
function unservedRoute({ backend, config }: Core, intent: Intent): GatewayError | undefined {
  if (backend || intent.embedded) return undefined
  const routeId = intent.routeId ?? intent.payment?.accepted?.extra?.routeId
  const route = routeId === undefined ? undefined : config.catalog.routes.get(routeId)
  if (!route && !intent.call) return undefined
  // An unknown route is told as such.
  if (routeId !== undefined && !route) return undefined
  const call = route ? `${route.method} ${route.path}` : 'the route'
  return new GatewayError(
    'INVALID_REQUEST',
    `The seller's own server answers this route: call ${call} there directly. Nothing was charged.`,
  )
}
