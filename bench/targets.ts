import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DevChain } from '../src/testing/dev-chain.ts'
import { startPostgres } from '../src/testing/postgres-server.ts'
import { startRedis } from '../src/testing/redis-server.ts'
import { type ChildServer, serverProgram, startServer } from './child-server.ts'
import { type Asking, PRICE } from './payments.ts'

/** A server that sells something for {@link PRICE}. */
export interface Target extends ChildServer {
  asking: Asking
  /** Where the same answer is given away. */
  bare?: { url: string; path: string }
}

/** The seller of every cell; the accounts after it pay the gas. */
const SELLER = 0
const FIRST_WALLET = 1
/** What a sold answer carries: about an AccessGrant. */
export const ANSWER_BYTES = 900
export const POLL_MS = '20'

export const sellerOf = (chain: DevChain) => chain.account(SELLER).address
export const bench = (file: string) => fileURLToPath(new URL(`./servers/${file}`, import.meta.url))
export const keyOf = (chain: DevChain, index = FIRST_WALLET) => chain.account(index).privateKey

export interface OurOptions {
  chain: DevChain
  /** Where package.json is: the gateway runs from the built package. */
  root: string
  sells?: 'plan' | 'call' | 'embedded'
  /** Further networks that it is paid on; everything is bought on `chain`. */
  alsoOn?: readonly DevChain[]
  wallets?: number
  /** The accounts of the local chain that are its gas wallets, instead of the first `wallets`. */
  walletAccounts?: readonly number[]
  /** Settings that name a store which runs already, and which others may share. */
  runningStore?: Record<string, string>
  /** Default: the embedded one. The others are real servers, started for this target alone. */
  store?: 'embedded' | 'redis' | 'postgres'
  furtherEnv?: Record<string, string>
  /** Of the embedded store; a fresh one by default. */
  dataDir?: string
}

/** Our gateway, as `paystile serve` runs it, with settings as near to the peer's kindest form as they go. */
export async function startOurs(options: OurOptions): Promise<Target> {
  const { chain, root, sells = 'plan', wallets = 1, alsoOn = [] } = options
  const store = await startStore(options)
  if (sells === 'embedded') {
    const server = await startServer(bench('embedded.js'), [], {
      ...{ ROOT: root, RPC_URL: chain.rpcUrl, PRIVATE_KEY: keyOf(chain), PAY_TO: sellerOf(chain), PRICE },
      ...{ BODY_BYTES: String(ANSWER_BYTES), ...store.env },
    })
    const target = finished(server, { method: 'GET', path: '/paid', body: '' }, store.stop)
    return { ...target, bare: { url: server.url, path: '/bare' } }
  }
  const backend =
    sells === 'call'
      ? await startServer(bench('backend.js'), [], { BODY_BYTES: String(ANSWER_BYTES) })
      : undefined
  const accounts = Array.from({ length: wallets }, (_, index) => FIRST_WALLET + index)
  const keys = (options.walletAccounts ?? accounts).map((account) => keyOf(chain, account))
  const server = await startServer(
    serverProgram(root),
    ['serve'],
    {
      ...networksEnv([chain, ...alsoOn]),
      SVC_WALLET_ADDRESS: sellerOf(chain),
      SVC_SECRET_KEY: '5'.repeat(64),
      TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
      PLANS: JSON.stringify([{ planId: 'basic', unitAmount: PRICE, description: 'A paid call' }]),
      ROUTES: JSON.stringify(
        backend ? [{ routeId: 'paid', method: 'GET', path: '/paid', unitAmount: PRICE }] : [],
      ),
      // Somebody must answer the tokens of a plan.
      ...(backend
        ? { PROXY_TO_BASE_URL: backend.url }
        : { RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}' }),
      GAS_WALLET_PRIVATE_KEY: keys.join(','),
      RATE_LIMIT_PER_MINUTE: '0',
      POLL_INTERVAL_MS: POLL_MS,
      // Stored challenges must outlive the longest cell.
      CHALLENGE_TTL_SECONDS: '7200',
      ...store.env,
      ...options.furtherEnv,
    },
    '/ready',
  )
  const asking: Asking = backend
    ? { method: 'GET', path: '/paid', body: '' }
    : { method: 'POST', path: '/x402/access', body: '{"planId":"basic"}' }
  const target = finished(server, asking, async () => {
    await backend?.stop()
    await store.stop()
  })
  return { ...target, ...(backend && { bare: { url: backend.url, path: '/paid' } }) }
}

export function networksEnv(chains: readonly DevChain[]): Record<string, string> {
  const [only, ...further] = chains
  // The time of the chain is told apart by this variable.
  if (only && further.length === 0) return { SVC_NETWORK: only.network, RPC_URL: only.rpcUrl }
  return {
    SVC_NETWORK: chains.map(({ network }) => network).join(','),
    ...Object.fromEntries(
      chains.flatMap(({ chainId, rpcUrl }) => [
        [`RPC_URL_${chainId}`, rpcUrl],
        // A local chain's gas price is no rollup's: at a real coin's price it would not carry a cent.
        [`NATIVE_USD_${chainId}`, '0.001'],
      ]),
    ),
  }
}

export async function startStore({
  store = 'embedded',
  dataDir,
  runningStore,
}: Pick<OurOptions, 'store' | 'dataDir' | 'runningStore'>): Promise<{
  env: Record<string, string>
  stop(): Promise<void>
}> {
  if (runningStore) return { env: runningStore, stop: async () => {} }
  if (store === 'redis') {
    const redis = await startRedis()
    return { env: { REDIS_URL: redis.url }, stop: () => redis.stop() }
  }
  if (store === 'postgres') {
    const postgres = await startPostgres()
    return { env: { DATABASE_URL: postgres.url }, stop: () => postgres.stop() }
  }
  if (dataDir !== undefined) return { env: { DATA_DIR: dataDir }, stop: async () => {} }
  const folder = await mkdtemp(join(tmpdir(), 'paystile-bench-'))
  const stop = () => rm(folder, { recursive: true, force: true })
  return { env: { DATA_DIR: join(folder, 'data') }, stop }
}

/** `@x402/express` with the official facilitator: as shipped, or in its kindest form. */
export async function startPeer(chain: DevChain, form: 'shipped' | 'kindest'): Promise<Target> {
  const env = { RPC_URL: chain.rpcUrl, PRIVATE_KEY: keyOf(chain) }
  const facilitator =
    form === 'shipped' ? await startServer(bench('facilitator.js'), [], env, '/supported') : undefined
  const server = await startServer(bench('peer.js'), [], {
    ...env,
    ...{ PAY_TO: sellerOf(chain), PRICE, BODY_BYTES: String(ANSWER_BYTES) },
    ...(facilitator && { FACILITATOR_URL: facilitator.url }),
  })
  const peer = finished(server, { method: 'GET', path: '/paid', body: '' }, async () => facilitator?.stop())
  if (!facilitator) return peer
  return {
    ...peer,
    async usage() {
      const [own, other] = await Promise.all([server.usage(), facilitator.usage()])
      return {
        cpuSeconds: own.cpuSeconds + other.cpuSeconds,
        rssBytes: own.rssBytes + other.rssBytes,
        calls: [...own.calls, ...other.calls],
      }
    },
  }
}

/** A bare framework that answers what our 402 looks like. */
export function startFloor(
  framework: string,
  like: { status: number; headers: Record<string, string>; body: string },
): Promise<ChildServer> {
  return startServer(bench('floor.js'), [], {
    FRAMEWORK: framework,
    STATUS: String(like.status),
    HEADERS: JSON.stringify(like.headers),
    BODY: like.body,
  })
}

function finished(server: ChildServer, asking: Asking, after: () => Promise<unknown>): Target {
  return {
    ...server,
    asking,
    async stop() {
      await server.stop()
      await after()
    },
  }
}
