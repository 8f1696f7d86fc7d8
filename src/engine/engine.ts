import { GatewayError } from '../errors.ts'
import { parseChallengeId } from '../rules/challenge-id.ts'
import { createBookKeeper } from './books/keep-book.ts'
import { createPayerRoom } from './budgets/payer-room.ts'
import { cancelChallenge } from './challenge/cancel-challenge.ts'
import { inspect, statusOf, watch } from './challenge/inspect.ts'
import { createUnpaidLog } from './challenge/log-unpaid.ts'
import { offerTerms, openChallenge } from './challenge/open-challenge.ts'
import { type Core, type EngineConfig, getOne, offerAgain, type Ports } from './core.ts'
import { createAccounts } from './credits/accounts.ts'
import { closeCredits } from './credits/close-credits.ts'
import { balanceOf } from './credits/credit-balance.ts'
import { prepaidCall } from './credits/prepaid-call.ts'
import { createSpending } from './credits/spend-credits.ts'
import { finishEmbedded, renewLease } from './deliver/deliver-route.ts'
import { createEventsControl } from './events/events-control.ts'
import { recordingEvents } from './events/record-events.ts'
import { createEventSender } from './events/send-events.ts'
import { createRetention } from './jobs/retention.ts'
import { runJobs, voidLeases } from './jobs/run-jobs.ts'
import { createRailWatch } from './jobs/watch-rails.ts'
import { rememberSettlers } from './metered/settlers.ts'
import type { Engine, Intent, Outcome } from './outcome.ts'
import { findOwned, whyEnded } from './ownership/find-owned.ts'
import { createLotIndex } from './ownership/index-lots.ts'
import { createWalletProofs } from './ownership/prove-wallet.ts'
import { type OpenRail, openRails } from './rails.ts'
import { proveRefund } from './refund/prove-refund.ts'
import { retryRefund } from './refund/retry-refund.ts'
import { type Broadcaster, createBroadcaster } from './settle/broadcast.ts'
import { lookAtChain } from './settle/look-at-chain.ts'
import { redeemPayment } from './settle/redeem-payment.ts'
import { redeemTransfer } from './settle/redeem-transfer.ts'
import { createResolver, type Resolver } from './settle/resolve.ts'
import { createSignals, withResolvers } from './signals.ts'

/** The one engine behind every transport: ports in, outcomes out. */
export function createEngine(ports: Ports, config: EngineConfig): Engine {
  const { webhooks } = ports
  const core: Core = {
    ...ports,
    ...(webhooks && { store: recordingEvents(ports.store, webhooks.endpoints) }),
    config,
    signals: createSignals(),
    rails: openRails(ports.rails, { ...ports, maxGasShare: config.maxGasShare }),
    payers: createPayerRoom(ports.clock, config.payerFailuresPerMinute),
    unpaidLog: createUnpaidLog(ports.clock),
    creditsAdded: (account) => accounts.forget(account),
    alerted: new Set(),
  }
  const accounts = createAccounts(core)
  const spending = createSpending(core, accounts)
  const unsubscribe = core.store.onCommitted?.((ids) => ids.forEach(core.signals.notify))
  const resolvers = new Map<OpenRail, Resolver>()
  const broadcasters = new Map<OpenRail, Broadcaster>()
  for (const rail of core.rails.all) {
    const resolver = createResolver(core, rail)
    resolvers.set(rail, resolver)
    broadcasters.set(rail, createBroadcaster(core, rail, resolver))
  }
  const markOld = createRetention(core)
  const indexLots = createLotIndex(core)
  const keepBook = createBookKeeper(core)
  const railWatch = createRailWatch(core)
  const events = webhooks && createEventsControl(core, webhooks)
  const sender = webhooks && createEventSender(core, webhooks)
  let jobs: Promise<unknown> | undefined
  let stopped = false
  const stopping = withResolvers()

  async function pass(): Promise<void> {
    await runJobs(core, accounts, (rail) => resolvers.get(rail)!)
    await markOld()
    await indexLots()
    await keepBook()
  }

  async function loop(work: () => Promise<void>): Promise<void> {
    while (!stopped) {
      await work()
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
      if (payment) return redeemPayment(core, (rail) => broadcasters.get(rail)!, { ...intent, payment })
      return openChallenge(core, intent)
    },
    spend: (intent) => prepaidCall(core, spending, intent),
    async finishPrepaid(reservation, ok) {
      if (ok) return spending.commit(reservation, null)
      await spending.giveBack(reservation)
      return { remaining: reservation.remaining + reservation.credits }
    },
    renewPrepaid: (reservation) => spending.renew(reservation),
    balance: (spender) => balanceOf(accounts, spender),
    signIn: createWalletProofs(core),
    owned: (wallet, access, buying) => findOwned(core, wallet, access, buying),
    whyEnded: (challengeId) => whyEnded(core, challengeId),
    async status(challengeId) {
      const challenge = await getOne(core, 'challenges', challengeId)
      if (challenge) return statusOf(challenge)
      const parsed = parseChallengeId(challengeId)
      if (!parsed) return undefined
      const state = core.clock.now() < parsed.expiresAt ? 'PENDING' : 'EXPIRED'
      return { challengeId, state, expiresAt: new Date(parsed.expiresAt).toISOString() }
    },
    offerAgain: (challenge, message) => offerAgain(core, challenge, message),
    inspect: (challengeId) => inspect(core, challengeId),
    watch: (challengeId, signal) => watch(core, challengeId, signal),
    renew: (challengeId, lease) => renewLease(core, challengeId, lease),
    finish: (challengeId, lease, result) => finishEmbedded(core, challengeId, lease, result),
    cancel: (challengeId, actor, offered) => cancelChallenge(core, challengeId, actor, offered),
    retryRefund: (challengeId) => retryRefund(core, challengeId),
    proveRefund: (challengeId, txHash) => proveRefund(core, challengeId, txHash),
    closeCredits: (challengeId) => closeCredits(core, accounts, challengeId),
    ...(events && { events }),
    rails: () => core.rails.states(),
    async ready() {
      await Promise.any(
        core.rails.all.filter(({ scheme }) => !scheme.metered).map((rail) => lookAtChain(core, rail, [])),
      ).catch(firstReason)
    },
    runJobs: pass,
    async start() {
      if (core.store.exclusive) await voidLeases(core)
      await rememberSettlers(core)
      if (jobs) return
      // An endpoint that answers slowly must not hold up work on payments.
      jobs = Promise.all([loop(pass), sender && loop(sender.pass)])
      await railWatch.start()
    },
    async stop() {
      stopped = true
      stopping.resolve()
      railWatch.stop()
      sender?.stop()
      unsubscribe?.()
      for (const resolver of resolvers.values()) resolver.stop()
      await Promise.all([jobs, ...[...resolvers.values()].map((resolver) => resolver.idle())])
    },
  }
}

/** One working rail is enough to sell. If none works, the error of the preferred rail is reported. */
function firstReason(cause: unknown): never {
  throw cause instanceof AggregateError ? cause.errors[0] : cause
}

/**
 * Without a backend, routes are served by the seller's own handlers, so a payment that arrives elsewhere can buy
 * nothing.
 */
function unservedRoute({ backend, config }: Core, intent: Intent): GatewayError | undefined {
  if (backend || intent.embedded) return undefined
  const routeId = intent.routeId ?? intent.payment?.echo.routeId
  const route = routeId === undefined ? undefined : config.catalog.routes.get(routeId)
  // A plan is sold here, also to a buyer that names a call besides.
  if (!route && (!intent.call || intent.planId !== undefined)) return undefined
  // The catalog lookup reports an unknown route.
  if (routeId !== undefined && !route) return undefined
  const call = route ? `${route.method} ${route.path}` : 'the route'
  return new GatewayError(
    'INVALID_REQUEST',
    `The seller's own server answers this route: call ${call} there directly. Nothing was charged.`,
  )
}
