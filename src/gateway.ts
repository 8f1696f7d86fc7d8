import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Instruments } from './backstage.ts'
import { discoveryOf } from './config/discovery.ts'
import type { GatewayOptions, OptionSource } from './config/options.ts'
import { resolveConfig } from './config/resolve-config.ts'
import { secretValues } from './config/secret-values.ts'
import { resourceIdAt } from './delivery/grant.ts'
import { createRandomPool } from './delivery/random-pool.ts'
import { createSeal } from './delivery/seal.ts'
import { createMpp } from './dialects/mpp/create-mpp.ts'
import { createX402 } from './dialects/x402/create-x402.ts'
import { rememberNetworks } from './engine/books/remember-networks.ts'
import { rememberCreditPlans } from './engine/credits/former-plans.ts'
import { createEngine } from './engine/engine.ts'
import type { Engine } from './engine/outcome.ts'
import { namingNetwork } from './engine/rails.ts'
import { ConfigError, GatewayError } from './errors.ts'
import type { Gateway } from './gateway-api.ts'
import type { Clock } from './ports.ts'
import { buildCatalog } from './rules/catalog.ts'
import { LEAST_MICRO_PER_GAS } from './rules/gas-cost.ts'
import { withCurrentRows } from './stores/current-rows.ts'
import { openStore } from './stores/open-store.ts'
import { openTurns } from './stores/open-turns.ts'
import { createCatalogNow } from './transports/catalog-now.ts'
import { createChargeRoute } from './transports/http/charge-route.ts'
import { checkNetworks, checkReadiness, shareReadiness } from './transports/http/check-readiness.ts'
import { createHttpHandler } from './transports/http/create-http-handler.ts'
import { createRequestLimits } from './transports/http/limit-requests.ts'
import { toResponse } from './transports/http/reply.ts'
import { servePlans } from './transports/http/serve-plans.ts'
import { VERSION } from './version.ts'
import { buildAlerts } from './wiring/build-alerts.ts'
import { buildCredits, creditPlans } from './wiring/build-credits.ts'
import { buildDelivery } from './wiring/build-delivery.ts'
import { buildHandlers } from './wiring/build-handlers.ts'
import { buildMounts } from './wiring/build-mounts.ts'
import { buildPages } from './wiring/build-pages.ts'
import { buildPrices } from './wiring/build-prices.ts'
import { balancesOn, buildRail, connectChain } from './wiring/build-rail.ts'
import { buildReceipts } from './wiring/build-receipts.ts'
import { buildRoutes } from './wiring/build-routes.ts'
import { buildSecretKeys } from './wiring/build-secret-keys.ts'
import { buildSignIn } from './wiring/build-sign-in.ts'
import { buildWebhooks } from './wiring/build-webhooks.ts'
import { createWalletCode } from './wiring/contract-faults.ts'
import { railsToOpen } from './wiring/rails-to-open.ts'
import { warnOfCatalog } from './wiring/warn-of-catalog.ts'

export type { ClosedCredits } from './engine/outcome.ts'
export { type Books, openBooks } from './wiring/open-books.ts'

import { watchGas } from './wiring/watch-gas.ts'

export type { Gateway }

const clock: Clock = {
  now: Date.now,
  sleep: (ms) => sleep(ms, undefined, { ref: false }),
  async requestsSent() {
    // Calls that are made together become one request, which undici sends after a turn of the event loop.
    await nextTurn()
    await nextTurn()
  },
}

/**
 * Builds a gateway from a few options. Rejects with a ConfigError that names every fault at once.
 *
 * @example
 * const gateway = await createGateway({
 *   walletAddress: process.env.SVC_WALLET_ADDRESS,
 *   plans: [{ planId: 'basic', unitAmount: '$1.00' }],
 *   tokenSecret: process.env.TOKEN_SECRET,
 * })
 * const response = await gateway.fetch(new Request('http://localhost:3000/discover'))
 */
export async function createGateway(
  options: GatewayOptions,
  source: OptionSource = {},
  instruments: Instruments = {},
): Promise<Gateway> {
  const config = resolveConfig(options, source)
  warnOfCatalog(config, source)
  instruments.conceal?.(secretValues(config))
  let events: Engine['events']
  const alerts = buildAlerts(config, instruments, () => events)
  const isMetered = config.routes.some(({ scheme }) => scheme !== undefined)
  const wallets = createWalletCode(config.networks)
  const connected = await Promise.all(
    config.networks.map((on) => connectChain(on, { alerts, clock }, { isMetered, wallets })),
  )
  const faults = [...connected.flatMap((chain) => chain.faults), ...config.networks.flatMap(wallets.faultsOf)]
  if (faults.length > 0) throw new ConfigError(faults)
  const opened = await (instruments.openStore ?? openStore)(config.store, alerts)
  const store = withCurrentRows(instruments.store?.(opened) ?? opened)
  const usesGasWallet = config.networks.some(({ settlement }) => settlement.kind === 'gas-wallet')
  const turns = usesGasWallet ? await openTurns(config.store) : undefined
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
  const closeStore = async (fault: unknown): Promise<never> => {
    turns?.close()
    await store.close()
    throw fault
  }
  const rails = await railsToOpen(store, built, seller, alerts).catch(closeStore)
  const formerCreditPlans = await rememberCreditPlans(store, config.plans).catch(closeStore)
  const sold = config.networks.map(({ network }) => network)
  await rememberNetworks(store, sold).catch(closeStore)
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
      challengeTtlMs: config.challengeTtlSeconds * 1000,
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
  events = plainEngine.events
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
  await engine.start()
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
      ...(events && { events }),
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
