import { createRequire } from 'node:module'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Backstage, Instruments } from './backstage.ts'
import { discoveryOf } from './config/discovery.ts'
import type { GatewayOptions, OptionSource } from './config/options.ts'
import { resolveConfig } from './config/resolve-config.ts'
import { secretValues } from './config/secret-values.ts'
import { createRandomPool } from './delivery/random-pool.ts'
import { createSeal } from './delivery/seal.ts'
import type { VerifyBearer } from './delivery/verify-bearer.ts'
import { createEngine } from './engine/engine.ts'
import type { Engine } from './engine/outcome.ts'
import { ConfigError } from './errors.ts'
import type { Clock } from './ports.ts'
import type { DiscoveryCatalog } from './protocol/catalog.ts'
import type { Address } from './protocol/hex.ts'
import { buildCatalog } from './rules/catalog.ts'
import { createChainClient } from './settlement/chain-client.ts'
import { createDomainCheck } from './settlement/check-domain.ts'
import { createRpcPace } from './settlement/rpc-pace.ts'
import { createSignatures } from './settlement/signatures.ts'
import { readBalances, type WalletRole } from './settlement/wallet-balances.ts'
import { openStore } from './stores/open-store.ts'
import { openTurns } from './stores/open-turns.ts'
import { type ChargeRoute, createChargeRoute } from './transports/http/charge-route.ts'
import { checkReadiness, shareReadiness } from './transports/http/check-readiness.ts'
import { createHttpHandler, type HttpHandler } from './transports/http/create-http-handler.ts'
import { createRequestLimits } from './transports/http/limit-requests.ts'
import type { Peer } from './transports/http/safeguards.ts'
import { buildAlerts } from './wiring/build-alerts.ts'
import { buildDelivery } from './wiring/build-delivery.ts'
import { buildMounts } from './wiring/build-mounts.ts'
import { buildRoutes } from './wiring/build-routes.ts'
import { buildSecretKeys } from './wiring/build-secret-keys.ts'
import { buildSettlement } from './wiring/build-settlement.ts'

/** A running gateway. */
export interface Gateway
  extends Pick<Engine, 'status' | 'cancel' | 'retryRefund' | 'proveRefund' | 'purchase'> {
  /** Answers any request below `baseUrl`: mount it wherever Fetch requests are served. */
  fetch(request: Request, peer?: Peer): Promise<Response>
  /** As `fetch`, but without a promise where there is nothing to wait for: a server of one's own can then answer at once. */
  answer: HttpHandler
  /** Guards the seller's own routes; knows only tokens that this gateway signs. */
  verifyBearer: VerifyBearer
  /** Charges for a call that the seller's own handler answers; frameworks build `payPerRequest` of it. */
  chargeRoute: ChargeRoute
  /** What can be bought. */
  discovery: DiscoveryCatalog
  /** For the operator's pages and commands only: nothing here is for buyers. */
  backstage: Backstage
  /** Finishes what is in flight as far as it can, and closes the store. */
  close(): Promise<void>
}

export const VERSION: string = createRequire(import.meta.url)('../package.json').version

const clock: Clock = {
  now: Date.now,
  sleep: (ms) => (ms > 0 ? sleep(ms, undefined, { ref: false }) : outgoing()),
}

/** Calls that are made together become a request, which undici writes after a turn: by then it is out. */
async function outgoing(): Promise<void> {
  await nextTurn()
  await nextTurn()
}

/**
 * Builds a gateway from a few options. Throws ConfigError with every fault at once.
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
  const node = { rpcUrl: config.network.rpcUrl, network: config.network, pace: createRpcPace() }
  const chain = createChainClient(node)
  const domain = createDomainCheck(config.network, chain)
  const atBoot = await domain.check()
  if (atBoot.kind === 'mismatch') throw new ConfigError(atBoot.faults)
  if (atBoot.kind === 'unreachable') {
    // The host alone: RPC URLs often carry an API key.
    alerts.raise('chain-unreachable', `${new URL(config.network.rpcUrl).host} does not answer; payments wait`)
  }
  const opened = await (instruments.openStore ?? openStore)(config.store, alerts)
  const store = instruments.store?.(opened) ?? opened
  const turns = config.settlement.kind === 'gas-wallet' ? await openTurns(config.store) : undefined
  const {
    settlement,
    refundSubmitters,
    gasWallets,
    ready: settlementReady,
  } = await buildSettlement(config, { chain, store, alerts, clock, turns })
  const keys = await buildSecretKeys(config)
  const seal = createSeal(keys.sealing)
  const { delivery, jwks, verifyBearer } = await buildDelivery(config, seal, alerts)
  const served = await buildRoutes(config, seal, alerts)
  // A retry must not call the backend while the first call may still be running.
  const deliveryLeaseMs = Math.max(60_000, (served?.timeoutMs ?? 0) + 30_000)
  const catalog = buildCatalog(config.plans, config.routes)
  const refundKey = config.refundWalletPrivateKey
  const refundSigner =
    refundKey && (await import('./settlement/refund-signer.ts')).createRefundSigner(refundKey, config.network)
  const bare = createEngine(
    {
      store,
      chain,
      settlement: domain.guard(settlement),
      refundSubmitters: refundSubmitters.map(domain.guard),
      signatures: createSignatures({
        ...node,
        wallets: {
          factories: config.allowedWalletFactories,
          deployedByOthers: config.settlement.kind === 'facilitator',
        },
      }),
      delivery,
      ...(served && { backend: served.backend }),
      clock,
      random: createRandomPool(),
      alerts,
      hooks: config.hooks,
      ...(refundSigner && { refundSigner }),
    },
    {
      network: config.network,
      payTo: config.walletAddress,
      baseUrl: config.baseUrl,
      catalog,
      idKeys: keys.ids,
      challengeTtlMs: config.challengeTtlSeconds * 1000,
      settleWaitMs: config.settleWaitSeconds * 1000,
      pollIntervalMs: config.pollIntervalMs,
      storePollMs: 250,
      gatherMs: 250,
      quietMs: 30,
      confirmations: config.confirmations,
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
  const engine = limits.counting(instruments.engine?.(bare) ?? bare)
  const wallets: Array<{ role: WalletRole; address: Address }> = [
    { role: 'receives', address: config.walletAddress },
    ...gasWallets.map((address) => ({ role: 'gas' as const, address })),
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
  const answer = createHttpHandler({
    engine,
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
          chain: () => domain.ready().then(engine.ready),
          settlement: settlementReady,
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
    fetch: async (request, peer) => answer(request, peer),
    answer,
    chargeRoute: createChargeRoute({
      engine,
      baseUrl: config.baseUrl,
      discovery,
      routes: config.routes,
      leaseMs: deliveryLeaseMs,
      ...safeguards,
    }),
    verifyBearer,
    discovery,
    purchase: engine.purchase,
    status: engine.status,
    cancel: engine.cancel,
    retryRefund: engine.retryRefund,
    proveRefund: engine.proveRefund,
    backstage: {
      network: config.network,
      store,
      inspect: engine.inspect,
      balances: () => readBalances(chain, wallets),
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
