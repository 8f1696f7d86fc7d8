import { createRequire } from 'node:module'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Instruments } from './backstage.ts'
import { readBalances, type WalletRole } from './chain/wallet-balances.ts'
import { discoveryOf } from './config/discovery.ts'
import type { GatewayOptions, OptionSource } from './config/options.ts'
import { resolveConfig } from './config/resolve-config.ts'
import { secretValues } from './config/secret-values.ts'
import { createRandomPool } from './delivery/random-pool.ts'
import { createSeal } from './delivery/seal.ts'
import { createX402 } from './dialects/x402/create-x402.ts'
import { createEngine } from './engine/engine.ts'
import { GatewayError } from './errors.ts'
import type { Gateway } from './gateway-api.ts'
import type { Clock } from './ports.ts'
import type { Address } from './protocol/hex.ts'
import { buildCatalog } from './rules/catalog.ts'
import { withCurrentRows } from './stores/current-rows.ts'
import { openStore } from './stores/open-store.ts'
import { openTurns } from './stores/open-turns.ts'
import { createChargeRoute } from './transports/http/charge-route.ts'
import { checkReadiness, shareReadiness } from './transports/http/check-readiness.ts'
import { createHttpHandler } from './transports/http/create-http-handler.ts'
import { createRequestLimits } from './transports/http/limit-requests.ts'
import { buildAlerts } from './wiring/build-alerts.ts'
import { buildDelivery } from './wiring/build-delivery.ts'
import { buildMounts } from './wiring/build-mounts.ts'
import { buildRail, connectChain } from './wiring/build-rail.ts'
import { buildRoutes } from './wiring/build-routes.ts'
import { buildSecretKeys } from './wiring/build-secret-keys.ts'

export type { Gateway }

/** The version of this package. */
export const VERSION: string = createRequire(import.meta.url)('../package.json').version

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
  instruments.conceal?.(secretValues(config))
  const alerts = buildAlerts(config, instruments)
  const connected = await connectChain(config, alerts)
  const opened = await (instruments.openStore ?? openStore)(config.store, alerts)
  const store = withCurrentRows(instruments.store?.(opened) ?? opened)
  const turns = config.settlement.kind === 'gas-wallet' ? await openTurns(config.store) : undefined
  const built = await buildRail(config, connected, { store, alerts, clock, turns })
  const rails = [built.rail]
  const x402 = createX402(rails, config.baseUrl.replace(/\/+$/, ''))
  const keys = await buildSecretKeys(config)
  const seal = createSeal(keys.sealing)
  const { delivery, jwks, verifyBearer } = await buildDelivery(config, seal, alerts)
  const served = await buildRoutes(config, seal, alerts)
  // A retry must not call the backend while the first call may still be running.
  const deliveryLeaseMs = Math.max(60_000, (served?.timeoutMs ?? 0) + 30_000)
  const catalog = buildCatalog(config.plans, config.routes)
  const plainEngine = createEngine(
    {
      store,
      rails,
      delivery,
      ...(served && { backend: served.backend }),
      clock,
      random: createRandomPool(),
      alerts,
      hooks: config.hooks,
    },
    {
      baseUrl: config.baseUrl,
      catalog,
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
      payerFailuresPerMinute: config.payerFailuresPerMinute,
      ...(config.payerUndeliveredPerDay > 0 && { payerUndeliveredPerDay: config.payerUndeliveredPerDay }),
      lostGasPerDay: {
        perPayer: config.payerLostGasPerDay || Number.POSITIVE_INFINITY,
        inAll: config.lostGasPerDay || Number.POSITIVE_INFINITY,
      },
      ...(config.retentionDays > 0 && { retentionMs: config.retentionDays * 86_400_000 }),
    },
  )
  const limits = createRequestLimits(config.rateLimitPerMinute, clock.now)
  const engine = limits.counting(instruments.engine?.(plainEngine) ?? plainEngine)
  const { refundSigner } = built.rail
  const wallets: Array<{ role: WalletRole; address: Address }> = [
    { role: 'receives', address: config.walletAddress },
    ...built.gasWallets.map((address) => ({ role: 'gas' as const, address })),
    ...(refundSigner ? [{ role: 'refund' as const, address: refundSigner.address }] : []),
  ]
  const startedAt = clock.now()
  const discovery = discoveryOf(config)
  const safeguards = {
    ...limits,
    onError: (error: unknown) =>
      alerts.raise('request-failed', error instanceof Error ? error.message : 'unknown'),
  }
  const { mounts, idle } = await buildMounts(config, {
    engine,
    discovery,
    catalog,
    servesRoutes: !!served,
    jwks: !!jwks,
  })
  const http = createHttpHandler({
    engine,
    x402,
    discovery,
    baseUrl: config.baseUrl,
    version: VERSION,
    networkId: config.network.id,
    storeName: store.name,
    ...(jwks && { jwks }),
    limits: { maxBodyBytes: config.maxBodyBytes, requestTimeoutMs: config.requestTimeoutSeconds * 1000 },
    uptimeSeconds: () => Math.floor((clock.now() - startedAt) / 1000),
    ready: shareReadiness(
      () =>
        checkReadiness({
          store: () => store.ping(),
          chain: () => built.chainReady().then(engine.ready),
          settlement: built.settlementReady,
        }),
      clock.now,
    ),
    ...(served && { routes: { catalog, forwardFree: served.forwardFree } }),
    ...(config.guardedPath !== null &&
      served?.forward && {
        guarded: { path: config.guardedPath, verifyBearer, forward: served.forward },
      }),
    mounts,
    ...safeguards,
  })
  await engine.start()
  return {
    fetch: async (request, peer) => http.fetch(request, peer),
    handle: async (request, peer) => http.handle(request, peer),
    chargeRoute: createChargeRoute({
      engine,
      x402,
      baseUrl: config.baseUrl,
      discovery,
      routes: config.routes,
      leaseMs: deliveryLeaseMs,
      ...safeguards,
    }),
    verifyBearer,
    discovery,
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
    backstage: {
      network: config.network,
      store,
      inspect: engine.inspect,
      balances: () => readBalances(built.client, wallets),
    },
    async close() {
      await idle()
      await engine.stop()
      await served?.close()
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
