import type { Address } from '../../src/protocol/hex.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { serve } from '../crash/outside.ts'
import { type Answer, answerOf, freePort } from '../e2e/world.ts'
import { type Instance, startInstance } from './instance.ts'

export const PRICE = 1_000_000n
/** What is sold of it is never delivered, so that its payments go back. */
export const BROKEN_PLAN = 'broken'

/** A chain, and the instances of one shop on it. */
export interface Shop {
  chain: DevChain
  /** What every instance is started with, and what commands are run with. A scenario changes it between starts. */
  env: Record<string, string>
  instances: Instance[]
  /** Whose balance the payments go to: one wallet, until a scenario replaces it. */
  sellers: Address[]
  /** Who pays refunds: the seller, until a scenario adds another wallet. */
  refundWallets: string[]
  /** What the token API accepts of the gateway; empty: everything. */
  tokenSecrets: string[]
  /** One more instance; the program is that of this version unless another one is named. */
  open(program?: string): Promise<void>
  /** Ends one and starts it again at its port, with the settings of now. */
  replace(index: number, how: 'SIGTERM' | 'SIGKILL', program?: string): Promise<void>
  /** POST /x402/access at the instances in turn; undefined where the connection broke. */
  access(body: object, header?: string): Promise<Answer | undefined>
  /** GET at the instances in turn. */
  get(path: string): Promise<{ status: number; body: unknown } | undefined>
  stop(): Promise<void>
}

export async function openShop(store: Record<string, string>): Promise<Shop> {
  const tokenSecrets: string[] = []
  const [chain, tokens] = await Promise.all([startDevChain(), startTokenApi(tokenSecrets)])
  const instances: Instance[] = []
  const env: Record<string, string> = {
    BASE_URL: 'http://shop.test',
    RPC_URL: chain.rpcUrl,
    SVC_WALLET_ADDRESS: chain.account(0).address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    REFUND_WALLET_PRIVATE_KEY: chain.account(0).privateKey,
    PLANS: JSON.stringify(['basic', BROKEN_PLAN].map((planId) => ({ planId, unitAmount: '$1.00' }))),
    ISSUE_TOKEN_API: tokens.url,
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    ADMIN_TOKEN: 'the-token-of-the-operator',
    SVC_MANAGED_INFRA: 'none',
    POLL_INTERVAL_MS: '200',
    SETTLE_WAIT_SECONDS: '5',
    REFUND_INTERVAL_SECONDS: '1',
    RATE_LIMIT_PER_MINUTE: '0',
    ...store,
  }
  let turn = 0
  const next = () => instances[turn++ % instances.length]?.url
  return {
    chain,
    env,
    instances,
    sellers: [chain.account(0).address],
    refundWallets: [chain.account(0).address],
    tokenSecrets,
    async open(program) {
      instances.push(await startInstance(env, await freePort(), program))
    },
    async replace(index, how, program) {
      const old = instances[index]!
      await old.end(how)
      instances[index] = await startInstance(env, old.port, program)
    },
    async access(body, header) {
      try {
        const response = await fetch(`${next()}/x402/access`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...(header && { 'payment-signature': header }) },
          body: JSON.stringify(body),
        })
        return await answerOf(response)
      } catch {
        return undefined
      }
    },
    async get(path) {
      try {
        const response = await fetch(`${next()}${path}`)
        return { status: response.status, body: await response.json() }
      } catch {
        return undefined
      }
    },
    async stop() {
      await Promise.all(instances.map((instance) => instance.end('SIGKILL')))
      await tokens.close()
      await chain.stop()
    },
  }
}

/** A token endpoint that keeps its promise: one token per idempotency key. One plan has none to give. */
const startTokenApi = (secrets: readonly string[]) =>
  serve(async ({ headers }, body, response) => {
    const [, secret = ''] = headers.authorization?.split(' ') ?? []
    if (secrets.length > 0 && !secrets.includes(secret)) return void response.writeHead(401).end()
    if (JSON.parse(body).planId === BROKEN_PLAN) return void response.writeHead(422).end()
    const token = `token-of-${headers['idempotency-key']}`
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ token }))
  })
