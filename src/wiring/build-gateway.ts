import type { Instruments } from '../backstage.ts'
import { discoveryOf } from '../config/discovery.ts'
import type { OptionSource } from '../config/options.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import { resourceIdAt } from '../delivery/grant.ts'
import { createRandomPool } from '../delivery/random-pool.ts'
import { createSeal } from '../delivery/seal.ts'
import { createMpp } from '../dialects/mpp/create-mpp.ts'
import { createX402 } from '../dialects/x402/create-x402.ts'
import { rememberNetworks } from '../engine/books/remember-networks.ts'
import { rememberOffers } from '../engine/challenge/remember-offers.ts'
import { rememberCreditPlans } from '../engine/credits/former-plans.ts'
import { createEngine } from '../engine/engine.ts'
import type { Engine } from '../engine/outcome.ts'
import { namingNetwork } from '../engine/rails.ts'
import { GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway-api.ts'
import type { Clock, Store, Turns } from '../ports.ts'
import { buildCatalog } from '../rules/catalog.ts'
import { LEAST_MICRO_PER_GAS } from '../rules/gas-cost.ts'
import { createCatalogNow } from '../transports/catalog-now.ts'
import { createChargeRoute } from '../transports/http/charge-route.ts'
import { checkNetworks, checkReadiness, shareReadiness } from '../transports/http/check-readiness.ts'
import { createHttpHandler } from '../transports/http/create-http-handler.ts'
import { createRequestLimits } from '../transports/http/limit-requests.ts'
import { toResponse } from '../transports/http/reply.ts'
import { servePlans } from '../transports/http/serve-plans.ts'
import { VERSION } from '../version.ts'
import type { buildAlerts } from './build-alerts.ts'
import { buildCredits, creditPlans } from './build-credits.ts'
import { buildDelivery } from './build-delivery.ts'
import { buildHandlers } from './build-handlers.ts'
import { buildMounts } from './build-mounts.ts'
import { buildPages } from './build-pages.ts'
import { buildPrices } from './build-prices.ts'
import { balancesOn, buildRail, type connectChain } from './build-rail.ts'
import { buildReceipts } from './build-receipts.ts'
import { buildRoutes } from './build-routes.ts'
import { buildSecretKeys } from './build-secret-keys.ts'
import { buildSignIn } from './build-sign-in.ts'
import { buildWebhooks } from './build-webhooks.ts'
import { railsToOpen } from './rails-to-open.ts'
import { watchGas } from './watch-gas.ts'

interface Parts {
  /** In the order of the configured networks. */
  connected: ReadonlyArray<Awaited<ReturnType<typeof connectChain>>>
  store: Store
  turns: Turns | undefined
  alerts: ReturnType<typeof buildAlerts>
  clock: Clock
  /** Told before the engine starts, so that alerts of the start become events too. */
  onEvents(events: Engine['events']): void
}

/** Puts a gateway together and starts it. Whoever opened the store and the turns closes them if this rejects. */
export async function buildGateway(
  config: ResolvedConfig,
  { connected, store, turns, alerts, clock, onEvents }: Parts,
  source: OptionSource,
  instruments: Instruments,
): Promise<Gateway> {
  const isMetered = config.routes.some(({ scheme }) => scheme !== undefined)
  const parts = { store, alerts, clock, turns }
  const built = await Promise.all(
    config.networks.map((network, index) =>
      buildRail(network, config.allowedWalletFactories, connected[index]!, {
        ...parts,
        alerts: config.networks.length > 1 ? namingNetwork(alerts, network.network) : alerts,
      }),
    ),
  )
  const label = source.labels?.network ?? 'network'
  const seller = { networks: config.networks, label }
  const rails = await railsToOpen(store, built, seller, alerts)
  const formerCreditPlans = await rememberCreditPlans(store, config.plans)
  const challengeTtlMs = config.challengeTtlSeconds * 1000
  const formerOffers = await rememberOffers(store, { ttlMs: challengeTtlMs, rails, now: clock.now() })
  const sold = config.networks.map(({ network }) => network)
  await rememberNetworks(store, sold)
  if (config.networks.length > 1 || isMetered) await store.admitSeveralNetworks?.()
  const x402 = createX402(rails, config.baseUrl)
  const dialects = { x402, mpp: createMpp(rails, config.baseUrl, clock.now) }
  const keys = await buildSecretKeys(config)
  const seal = createSeal(keys.sealing)
  const receipts = buildReceipts(config, keys)
  const { delivery, jwks, verifyBearer } = await buildDelivery(config, seal, alerts)
  const served = await buildRoutes(config, seal, alerts)
  const prices = await buildPrices(config)
  const webhooks = buildWebhooks(config, keys, VERSION)
  const callTimeoutMs = served?.timeoutMs ?? config.requestTimeoutSeconds * 1000
  const handlers = buildHandlers(config, rails, seal, callTimeoutMs)
  // A retry must not call the backend while the first call may still be running.
  const deliveryLeaseMs = Math.max(60_000, (served || handlers ? callTimeoutMs : 0) + 30_000)
  const catalog = buildCatalog(config.plans, config.routes)
  const random = createRandomPool()
  const plainEngine = createEngine(
    {
      store,
      rails,
      delivery,
      ...(served && { backend: served.backend }),
      ...(handlers && { handlers }),
      ...(prices && { askPrice: prices.ask }),
      clock,
      random,
      alerts,
      hooks: config.hooks,
      receipts: receipts.signer,
      ...(webhooks && { webhooks }),
    },
    {
      baseUrl: config.baseUrl,
      catalog,
      formerCreditPlans,
      idKeys: keys.ids,
      challengeTtlMs,
      formerOffers,
      settleWaitMs: config.settleWaitSeconds * 1000,
      pollIntervalMs: config.pollIntervalMs,
      storePollMs: 250,
      gatherMs: 250,
      quietMs: 30,
      refundMinAgeMs: config.refundMinAgeSeconds * 1000,
      refundIntervalMs: config.refundIntervalSeconds * 1000,
      refundMaxAttempts: 5,
      jobIntervalMs: 1000,
      leaseMs: 10_000,
      deliveryLeaseMs,
      callTimeoutMs,
      payerFailuresPerMinute: config.payerFailuresPerMinute,
      ...(config.payerUndeliveredPerDay > 0 && { payerUndeliveredPerDay: config.payerUndeliveredPerDay }),
      lostGasPerDay: {
        perPayer: config.payerLostGasPerDay * LEAST_MICRO_PER_GAS || Number.POSITIVE_INFINITY,
        inAll: config.lostGasPerDay * LEAST_MICRO_PER_GAS || Number.POSITIVE_INFINITY,
      },
      maxGasShare: config.maxGasShare,
      ...(config.retentionDays > 0 && { retentionMs: config.retentionDays * 86_400_000 }),
    },
  )
  onEvents(plainEngine.events)
  const limits = createRequestLimits(config.rateLimitPerMinute, clock.now)
  const engine = limits.counting(instruments.engine?.(plainEngine) ?? plainEngine)
  const startedAt = clock.now()
  const discovery = discoveryOf(config)
  const catalogNow = createCatalogNow(discovery, () => engine.rails())
  const safeguards = {
    ...limits,
    onError: (error: unknown) =>
      alerts.raise('request-failed', error instanceof Error ? error.message : 'unknown'),
  }
  const { mounts, idle } = await buildMounts(config, {
    engine,
    discovery,
    catalogNow,
    catalog,
    servesRoutes: !!served,
    jwks: !!jwks,
  })
  const pages = await buildPages(config, { discovery, servesRoutes: !!served, jwks: !!jwks })
  const { siwx, signIn, verifyAccess } = buildSignIn(config, {
    ...{ engine, verifyBearer, random, limits },
    creditPlans: [...creditPlans(config.plans), ...formerCreditPlans],
    signsTokens: delivery.instant,
    now: clock.now,
    onError: safeguards.onError,
  })
  const credits = buildCredits(config, {
    ...{ engine, verifyBearer, signIn, formerPlans: formerCreditPlans },
    signsTokens: delivery.instant,
    now: clock.now,
  })
  const http = createHttpHandler({
    engine,
    dialects,
    signIn,
    ...(credits && { credits }),
    extensions: [siwx.member, ...receipts.extensions],
    probeExtensions: receipts.extensions,
    discovery,
    catalogNow,
    baseUrl: config.baseUrl,
    version: VERSION,
    networkIds: config.networks.map(({ network }) => network.id),
    storeName: store.name,
    ...(jwks && { jwks }),
    receipts: receipts.published(engine, catalog),
    limits: { maxBodyBytes: config.maxBodyBytes, requestTimeoutMs: config.requestTimeoutSeconds * 1000 },
    uptimeSeconds: () => Math.floor((clock.now() - startedAt) / 1000),
    ready: shareReadiness(
      () =>
        built.length === 1
          ? checkReadiness({
              store: () => store.ping(),
              chain: () => built[0]!.chainReady().then(engine.ready),
              settlement: built[0]!.settlementReady,
            })
          : checkNetworks(
              () => store.ping(),
              built.map(({ rail, chainReady, settlementReady }) => ({
                id: rail.network.id,
                chain: () => chainReady().then(async () => void (await rail.chain.head())),
                settlement: settlementReady,
              })),
              engine.rails,
            ),
      clock.now,
    ),
    ...(served && { routes: { catalog, forwardFree: served.forwardFree } }),
    ...(config.guardedPath !== null &&
      served?.forward && {
        guarded: {
          path: config.guardedPath,
          resourceIdOf: (target: string) => resourceIdAt(config.resourceEndpoint, target),
          verifyAccess,
          forward: served.forward,
        },
      }),
    mounts: pages.paymentPage ? [...mounts, servePlans(config.plans.map(({ planId }) => planId))] : mounts,
    ...pages,
    ...safeguards,
  })
  await engine.start().catch(async (fault: unknown) => {
    await engine.stop()
    throw fault
  })
  const gasWatch = watchGas(built, clock)
  return {
    fetch: async (request, peer) => http.fetch(request, peer),
    handle: async (request, peer) => http.handle(request, peer),
    chargeRoute: createChargeRoute({
      engine,
      dialects,
      baseUrl: config.baseUrl,
      discovery,
      routes: config.routes,
      extensions: receipts.extensions,
      leaseMs: deliveryLeaseMs,
      maxAnswerBytes: config.maxResourceBytes,
      ...(pages.paymentPage && { paymentPage: pages.paymentPage }),
      ...(credits && { credits: { ...engine, readSpender: credits.readSpender }, signIn }),
      ...safeguards,
    }),
    shopWindow: (request) => pages.shopWindow && toResponse(pages.shopWindow(request), request),
    verifyBearer,
    verifyAccess,
    get discovery() {
      return catalogNow()
    },
    purchase: engine.purchase,
    x402,
    status: engine.status,
    async cancel(challengeId, actor, offered) {
      if (!offered) return orReject(engine.cancel(challengeId, actor))
      const terms = x402.readTerms(offered.accepted)
      if ('fault' in terms) throw new GatewayError('INVALID_REQUEST', `accepted ${terms.fault}`)
      const { call } = offered
      return orReject(engine.cancel(challengeId, actor, { ...terms, ...(call && { call }) }))
    },
    retryRefund: (challengeId) => orReject(engine.retryRefund(challengeId)),
    proveRefund: (challengeId, txHash) => orReject(engine.proveRefund(challengeId, txHash)),
    closeCredits: (challengeId) => orReject(engine.closeCredits(challengeId)),
    backstage: {
      networks: sold,
      store,
      inspect: engine.inspect,
      rails: engine.rails,
      ...(plainEngine.events && { events: plainEngine.events }),
      balances: () => Promise.all(built.map(balancesOn)),
      watchAlerts: alerts.watch,
    },
    async close() {
      gasWatch.stop()
      await idle()
      await engine.stop()
      await served?.close()
      await prices?.close()
      await webhooks?.close()
      turns?.close()
      await store.close()
    },
  }
}

/** In the engine a refusal is a value that transports render; callers of the gateway get it as a rejection. */
async function orReject<T>(decided: Promise<T | GatewayError>): Promise<T> {
  const value = await decided
  if (value instanceof GatewayError) throw value
  return value
}
