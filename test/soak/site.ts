import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { type PostgresServer, startPostgres } from '../../src/testing/postgres-server.ts'
import { type RedisServer, startRedis } from '../../src/testing/redis-server.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../e2e/webhook-receiver.ts'
import { type Backend, startBackend } from './backend.ts'
import { PLANS, ROUTES } from './catalog.ts'
import { type Node, startNode } from './node.ts'
import type { Options } from './options.ts'
import { createInstance, type Instance } from './shop.ts'

/** Where buyers believe the shop to be; every instance answers for it. */
export const SHOP = 'http://localhost:4021'
export const ADMIN_TOKEN = 'the-token-of-the-operator'
export const INSTANCES = 3

/** Everything that a run needs, as it stands outside of the shop and around it. */
export interface Site {
  folder: string
  chain: DevChain
  store: PostgresServer | RedisServer
  /** Two ways to the one chain; each has troubles of its own. */
  nodes: [Node, Node]
  backend: Backend
  receiver: WebhookReceiver
  instances: Instance[]
  /** What the instances are started with, for commands of the operator. */
  env: Record<string, string>
  stop(keepFolder: boolean): Promise<void>
}

export async function openSite({ store: name }: Pick<Options, 'store'>): Promise<Site> {
  const folder = await mkdtemp(join(tmpdir(), 'paystile-soak-'))
  const [chain, store, receiver, backend] = await Promise.all([
    startDevChain(),
    name === 'postgres' ? startPostgres() : startRedis(),
    startWebhookReceiver(),
    startBackend(),
  ])
  const nodes: [Node, Node] = [await startNode(chain.rpcUrl), await startNode(chain.rpcUrl)]
  const seller = chain.account(0)
  const env: Record<string, string> = {
    [name === 'postgres' ? 'DATABASE_URL' : 'REDIS_URL']: store.url,
    SVC_MANAGED_INFRA: 'none',
    SVC_SECRET_KEY: 'one-secret-for-all-instances-of-this-shop',
    ADMIN_TOKEN,
    RPC_URL: nodes.map(({ url }) => url).join(','),
    SVC_WALLET_ADDRESS: seller.address,
    GAS_WALLET_PRIVATE_KEY: [1, 2].map((index) => chain.account(index).privateKey).join(','),
    REFUND_WALLET_PRIVATE_KEY: seller.privateKey,
    REFUND_INTERVAL_SECONDS: '2',
    REFUND_MIN_AGE_SECONDS: '20',
    PLANS: JSON.stringify(PLANS),
    ROUTES: JSON.stringify(ROUTES),
    PROXY_TO_BASE_URL: backend.url,
    PROXY_TIMEOUT_SECONDS: '3',
    TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
    BASE_URL: SHOP,
    MCP_ENABLED: 'true',
    MCP_ROUTES: 'true',
    POLL_INTERVAL_MS: '500',
    SETTLE_WAIT_SECONDS: '10',
    // Few wallets and one address do the work of many: what keeps single ones small would keep all of it small.
    RATE_LIMIT_PER_MINUTE: '0',
    PAYER_FAILURES_PER_MINUTE: '0',
    PAYER_UNDELIVERED_PER_DAY: '0',
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET: receiver.secret,
    WEBHOOK_ALLOW_HOSTS: receiver.host,
    LOG_LEVEL: 'warn',
  }
  const instances: Instance[] = []
  for (let index = 0; index < INSTANCES; index++)
    instances.push(await createInstance(`instance-${index + 1}`, folder, env))
  return {
    ...{ folder, chain, store, nodes, backend, receiver, instances, env },
    async stop(keepFolder) {
      await Promise.all(instances.map((one) => one.kill()))
      await Promise.all([
        ...nodes.map((node) => node.stop()),
        receiver.down(),
        backend.stop(),
        store.stop(),
        chain.stop(),
      ])
      if (!keepFolder) await rm(folder, { recursive: true, force: true })
    },
  }
}
