import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { discoveryOf } from './config/discovery.ts'
import type { GatewayOptions, OptionSource } from './config/options.ts'
import { resolveConfig } from './config/resolve-config.ts'
import type { ResolvedConfig } from './config/resolved-config.ts'
import type { GrantPlaces } from './delivery/grant.ts'
import type { Jwks } from './delivery/jwks.ts'
import { noCredentials, refuseEveryBearer } from './delivery/no-credential.ts'
import type { RouteService } from './delivery/route-service.ts'
import { createSeal, type Seal } from './delivery/seal.ts'
import { parseSecretKeys, type SecretKeys } from './delivery/secret-keys.ts'
import type { VerifyBearer } from './delivery/verify-bearer.ts'
import { createEngine } from './engine/engine.ts'
import type { Engine } from './engine/outcome.ts'
import { ConfigError } from './errors.ts'
import type { Alerts, Chain, Clock, Delivery, Settlement, Store } from './ports.ts'
import type { DiscoveryCatalog } from './protocol/catalog.ts'
import { buildCatalog } from './rules/catalog.ts'
import { type ChainDomain, createChainClient } from './settlement/chain-client.ts'
import { createSignatures } from './settlement/signatures.ts'
import { openStore } from './stores/open-store.ts'
import { type ChargeRoute, createChargeRoute } from './transports/http/charge-route.ts'
import { checkReadiness } from './transports/http/check-readiness.ts'
import { createHttpHandler, type HttpHandler } from './transports/http/create-http-handler.ts'
import { createRateLimit } from './transports/http/rate-limit.ts'

/** A running gateway. */
export interface Gateway extends Pick<Engine, 'status' | 'cancel' | 'retryRefund' | 'purchase'> {
  /** Answers any request below `baseUrl`: mount it wherever Fetch requests are served. */
  fetch: HttpHandler
  /** Guards the seller's own routes; knows only tokens that this gateway signs. */
  verifyBearer: VerifyBearer
  /** Charges for a call that the seller's own handler answers; frameworks build `payPerRequest` of it. */
  chargeRoute: ChargeRoute
  /** What can be bought. */
  discovery: DiscoveryCatalog
  /** Finishes what is in flight as far as it can, and closes the store. */
  close(): Promise<void>
}

export const VERSION: string = createRequire(import.meta.url)('../package.json').version

const clock: Clock = { now: Date.now, sleep: (ms) => sleep(ms, undefined, { ref: false }) }

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
export async function createGateway(options: GatewayOptions, source: OptionSource = {}): Promise<Gateway> {
  const config = resolveConfig(options, source)
  const alerts = createAlerts(config)
  const chain = createChainClient({ rpcUrl: config.network.rpcUrl, network: config.network })
  const domain = createDomainCheck(config, chain)
  const atBoot = await domain.check()
  if (atBoot.kind === 'mismatch') throw new ConfigError(atBoot.faults)
  if (atBoot.kind === 'unreachable') {
    // The host alone: RPC URLs often carry an API key.
    alerts.raise('chain-unreachable', `${new URL(config.network.rpcUrl).host} does not answer; payments wait`)
  }
  const store = await openStore(config.store, alerts)
  const { settlement, ready: settlementReady } = await buildSettlement(config, { chain, store, alerts })
  const keys = await secretKeys(config)
  const seal = createSeal(keys.sealing)
  const { delivery, jwks, verifyBearer } = await buildDelivery(config, seal, alerts)
  const served = await buildRoutes(config, seal, alerts)
  const catalog = buildCatalog(config.plans, config.routes)
  const refundKey = config.refundWalletPrivateKey
  const engine = createEngine(
    {
      store,
      chain,
      settlement: domain.guard(settlement),
      signatures: createSignatures({ rpcUrl: config.network.rpcUrl, network: config.network }),
      delivery,
      ...(served && { backend: served.backend }),
      clock,
      random: { bytes: randomBytes },
      alerts,
      hooks: config.hooks,
      ...(refundKey && {
        refundSigner: (await import('./settlement/refund-signer.ts')).createRefundSigner(
          refundKey,
          config.network,
        ),
      }),
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
      confirmations: config.confirmations,
      refundMinAgeMs: config.refundMinAgeSeconds * 1000,
      refundIntervalMs: config.refundIntervalSeconds * 1000,
      refundMaxAttempts: 5,
      jobIntervalMs: 1000,
      leaseMs: 10_000,
      // A retry must not call the backend while the first call may still be running.
      deliveryLeaseMs: Math.max(60_000, (served?.timeoutMs ?? 0) + 30_000),
      payerFailuresPerMinute: 30,
    },
  )
  const startedAt = clock.now()
  const rateLimit = createRateLimit({ perMinute: config.rateLimitPerMinute })
  const discovery = discoveryOf(config)
  const safeguards = {
    rateLimit: (address: string) => rateLimit(address, clock.now()),
    onError: (error: unknown) =>
      alerts.raise('request-failed', error instanceof Error ? error.message : 'unknown'),
  }
  await engine.start()
  return {
    fetch: createHttpHandler({
      engine,
      discovery,
      baseUrl: config.baseUrl,
      version: VERSION,
      networkId: config.network.id,
      storeName: store.name,
      ...(jwks && { jwks }),
      limits: { maxBodyBytes: config.maxBodyBytes, requestTimeoutMs: config.requestTimeoutSeconds * 1000 },
      uptimeSeconds: () => Math.floor((clock.now() - startedAt) / 1000),
      ready: () =>
        checkReadiness({ store: () => store.ping(), chain: domain.ready, settlement: settlementReady }),
      ...(served && { routes: { catalog, forwardFree: served.forwardFree } }),
      ...(config.guardedPath !== null &&
        served?.forward && {
          guarded: { path: config.guardedPath, verifyBearer, forward: served.forward },
        }),
      ...safeguards,
    }),
    chargeRoute: createChargeRoute({ engine, baseUrl: config.baseUrl, ...safeguards }),
    verifyBearer,
    discovery,
    purchase: engine.purchase,
    status: engine.status,
    cancel: engine.cancel,
    retryRefund: engine.retryRefund,
    async close() {
      await engine.stop()
      await served?.close()
      await store.close()
    },
  }
}

function createAlerts({ onAlert }: ResolvedConfig): Alerts {
  return {
    raise(kind, message) {
      console.error(
        JSON.stringify({ level: 'error', time: new Date(clock.now()).toISOString(), alert: kind, message }),
      )
      try {
        onAlert?.(kind, message)
      } catch {
        // Telling the operator must not become a fault of its own.
      }
    },
  }
}

type Checked = { kind: 'good' } | { kind: 'mismatch'; faults: string[] } | { kind: 'unreachable' }

/** A token whose domain differs from our table would refuse every signature: we ask before the first settlement. */
function createDomainCheck({ network }: ResolvedConfig, chain: Chain & { domain(): Promise<ChainDomain> }) {
  let good = false
  async function check(): Promise<Checked> {
    if (good) return { kind: 'good' }
    let found: ChainDomain
    try {
      found = await chain.domain()
    } catch {
      return { kind: 'unreachable' }
    }
    const expected = { chainId: network.chainId, ...network.domain }
    const faults = (['chainId', 'name', 'version'] as const)
      .filter((field) => found[field] !== expected[field])
      .map(
        (field) =>
          `rpcUrl answers ${field} ${found[field]}; ${network.id} has ${expected[field]}. Use an RPC of ${network.id}.`,
      )
    good = faults.length === 0
    return good ? { kind: 'good' } : { kind: 'mismatch', faults }
  }
  const unfit = async (): Promise<string | undefined> => {
    const checked = await check()
    if (checked.kind === 'good') return undefined
    return checked.kind === 'mismatch' ? checked.faults.join(' ') : 'the chain cannot be reached'
  }
  return {
    check,
    guard: (settlement: Settlement): Settlement => ({
      ...settlement,
      unavailable: async () => (await unfit()) ?? settlement.unavailable(),
    }),
    async ready() {
      const fault = await unfit()
      if (fault) throw new Error(fault)
      await chain.head()
    },
  }
}

async function secretKeys({ secretKey }: ResolvedConfig): Promise<SecretKeys> {
  switch (secretKey.kind) {
    case 'given':
      return parseSecretKeys(secretKey.list)
    case 'generated':
      return parseSecretKeys(
        (await import('./delivery/generate-secret.ts')).readOrGenerateSecret(secretKey.dataDir),
      )
    case 'ephemeral':
      return parseSecretKeys(randomBytes(32).toString('hex'))
  }
}

async function buildSettlement(
  { settlement, network }: ResolvedConfig,
  parts: { chain: Chain; store: Store; alerts: Alerts },
): Promise<{ settlement: Settlement; ready(): Promise<void> }> {
  if (settlement.kind === 'gas-wallet') {
    const [{ createGasWallet }, { createTxSigner }] = await Promise.all([
      import('./settlement/gas-wallet.ts'),
      import('./settlement/tx-signer.ts'),
    ])
    const signers = settlement.privateKeys.map((key) => createTxSigner(key, network))
    const gasWallet = createGasWallet({ ...parts, clock, signers })
    const ready = async () => {
      const fault = await gasWallet.unavailable()
      if (fault) throw new Error(fault)
    }
    return { settlement: gasWallet, ready }
  }
  const [{ createFacilitator }, { createFacilitatorSettlement }, { createCdpAuthHeaders }] =
    await Promise.all([
      import('./settlement/facilitator-client.ts'),
      import('./settlement/facilitator-settlement.ts'),
      import('./settlement/cdp-auth.ts'),
    ])
  const { url, auth } = settlement
  const createAuthHeaders =
    auth.kind === 'cdp'
      ? createCdpAuthHeaders({ url, ...auth })
      : auth.kind === 'headers'
        ? auth.createAuthHeaders
        : undefined
  const facilitator = createFacilitator({ url, network, ...(createAuthHeaders && { createAuthHeaders }) })
  return {
    settlement: createFacilitatorSettlement(facilitator),
    ready: async () => void (await facilitator.supported()),
  }
}

interface Built {
  delivery: Delivery
  verifyBearer: VerifyBearer
  jwks?: Jwks | undefined
}

async function buildDelivery(config: ResolvedConfig, seal: Seal, alerts: Alerts): Promise<Built> {
  const { credential, plans } = config
  const places: GrantPlaces = {
    resourceEndpoint: config.resourceEndpoint,
    explorerTxUrl: config.network.explorerTxUrl,
  }
  const sealed = { seal, places, alerts }
  const verifyBearer = refuseEveryBearer
  switch (credential.kind) {
    case 'callback': {
      const { createCallbackDelivery } = await import('./delivery/issue-by-callback.ts')
      return { delivery: createCallbackDelivery({ ...sealed, ...credential }), verifyBearer }
    }
    case 'api': {
      const { createApiDelivery } = await import('./delivery/issue-by-api.ts')
      return { delivery: createApiDelivery({ ...sealed, ...credential, plans }), verifyBearer }
    }
    case 'none':
      return { delivery: noCredentials, verifyBearer }
    default: {
      const [{ createJwtDelivery }, { sharedSecretKeys, rsaKeys }, { publicJwks }, { createVerifyBearer }] =
        await Promise.all([
          import('./delivery/issue-jwt.ts'),
          import('./delivery/token-keys.ts'),
          import('./delivery/jwks.ts'),
          import('./delivery/verify-bearer.ts'),
        ])
      const tokens =
        credential.kind === 'hs256' ? sharedSecretKeys(credential.secret) : rsaKeys(credential.pem)
      const { baseUrl: issuer, resourceEndpoint, tokenTtlSeconds } = config
      return {
        delivery: createJwtDelivery({ keys: tokens, issuer, tokenTtlSeconds, plans, places }),
        verifyBearer: createVerifyBearer({ keys: tokens, issuer, resourceEndpoint }),
        jwks: publicJwks(tokens),
      }
    }
  }
}

/** Undefined: the seller's own handlers answer routes. */
async function buildRoutes(
  config: ResolvedConfig,
  seal: Seal,
  alerts: Alerts,
): Promise<RouteService | undefined> {
  const { backend, baseUrl } = config
  if (backend.kind === 'embedded') return undefined
  const { createCallbackService, createProxyService } = await import('./delivery/route-service.ts')
  const shared = {
    seal,
    explorerTxUrl: config.network.explorerTxUrl,
    maxBytes: config.maxResourceBytes,
    timeoutMs: (backend.kind === 'proxy' ? backend.timeoutSeconds : config.requestTimeoutSeconds) * 1000,
  }
  if (backend.kind === 'callback') {
    return createCallbackService({ ...shared, fetchResource: backend.fetchResource, alerts })
  }
  const { baseUrl: backendUrl, secret } = backend
  return createProxyService({ ...shared, backendUrl, secret, baseUrl })
}
