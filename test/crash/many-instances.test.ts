import { type ChildProcess, spawn } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import {
  type DevAccount,
  type DevChain,
  paymentHeader,
  signAuthorization,
  startDevChain,
} from '../../src/testing/index.ts'
import { startPostgres } from '../../src/testing/postgres-server.ts'
import { startRedis } from '../../src/testing/redis-server.ts'
import { type Answer, answerOf, freePort } from '../e2e/world.ts'
import { SERVER_PROGRAM } from '../server-program.ts'

const PRICE = 1_000_000n
const INSTANCES = 3
const BUYERS = 200
const KILLING_MS = 30_000
/** At least; a slow machine takes longer for them. */
const KILLS = 11

interface Running {
  child: ChildProcess
  url: string
}

describe.each([
  ['Postgres', startPostgres, 'DATABASE_URL'],
  ['Redis', startRedis, 'REDIS_URL'],
] as const)('three processes on one %s', (_name, startStore, variable) => {
  let chain: DevChain
  let store: { url: string; stop(): Promise<void> }
  let env: NodeJS.ProcessEnv
  const running: Running[] = []

  beforeAll(async () => {
    ;[chain, store] = await Promise.all([startDevChain(), startStore()])
    env = {
      PATH: process.env.PATH,
      [variable]: store.url,
      SVC_SECRET_KEY: 'one-secret-for-all-instances-of-this-shop',
      RPC_URL: chain.rpcUrl,
      SVC_WALLET_ADDRESS: chain.account(0).address,
      GAS_WALLET_PRIVATE_KEY: [1, 2].map((index) => chain.account(index).privateKey).join(','),
      REFUND_WALLET_PRIVATE_KEY: chain.account(0).privateKey,
      PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
      TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
      RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
      BASE_URL: 'http://shop.test',
      POLL_INTERVAL_MS: '200',
      SETTLE_WAIT_SECONDS: '10',
      RATE_LIMIT_PER_MINUTE: '0',
    }
    for (let index = 0; index < INSTANCES; index++) running.push(await startInstance(await freePort()))
  }, 120_000)

  afterAll(async () => {
    for (const { child } of running) child.kill('SIGKILL')
    await store?.stop()
    await chain?.stop()
  })

  async function startInstance(port: number): Promise<Running> {
    const child = spawn(process.execPath, [SERVER_PROGRAM, 'serve'], {
      env: { ...env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    const url = `http://127.0.0.1:${port}`
    for (;;) {
      if (child.exitCode !== null) throw new Error(`an instance exited with ${child.exitCode}`)
      if ((await fetch(`${url}/health`).catch(() => undefined))?.ok) return { child, url }
      await turn(50)
    }
  }

  /** Kills one instance a second, each time another, and starts it again. */
  async function killAtRandom(until: (kills: number) => boolean): Promise<number> {
    let kills = 0
    while (!until(kills)) {
      await turn(1000)
      const index = Math.floor(Math.random() * INSTANCES)
      const victim = running[index]!
      const gone = new Promise((exit) => victim.child.once('exit', exit))
      victim.child.kill('SIGKILL')
      await gone
      kills++
      running[index] = await startInstance(Number(new URL(victim.url).port))
    }
    return kills
  }

  let turnOf = 0
  /** Round robin, as a load balancer does; a broken connection is the buyer's to try again. */
  async function access(requestId: string, header?: string): Promise<Answer | undefined> {
    const { url } = running[turnOf++ % INSTANCES]!
    const response = await fetch(`${url}/x402/access`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(header && { 'payment-signature': header }) },
      body: JSON.stringify({ planId: 'basic', requestId }),
    }).catch(() => undefined)
    return response && answerOf(response).catch(() => undefined)
  }

  /** Asks again, with the very same request, until the answer is one of these. */
  async function ask(requestId: string, wanted: readonly number[], header?: string): Promise<Answer> {
    for (;;) {
      const answer = await access(requestId, header)
      if (answer && wanted.includes(answer.status)) return answer
      if (answer && ![500, 503].includes(answer.status))
        throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
      await turn(100)
    }
  }

  async function buy(buyer: DevAccount, requestId: string): Promise<Answer> {
    const terms = await ask(requestId, [402])
    const accepted = (terms.body as PaymentRequired).accepts[0]!
    const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
    const header = paymentHeader({ accepted, ...signed })
    // Twice at once, through different instances.
    const [first, second] = await Promise.all([ask(requestId, [200], header), ask(requestId, [200], header)])
    expect(second.body.accessToken).toBe(first.body.accessToken)
    return first
  }

  test(`${BUYERS} buyers are each charged once and served, while an instance is killed every second`, async () => {
    const buyers: DevAccount[] = []
    for (let index = 0; index < BUYERS; index++) buyers.push(await chain.newBuyer({ micro: 2n * PRICE }))
    await chain.setIntervalMining(1)
    const startedAt = Date.now()
    let served = 0
    const killing = killAtRandom(
      (kills) => served === BUYERS && kills >= KILLS && Date.now() - startedAt >= KILLING_MS,
    )
    // Spread over the half minute, so that every kill meets payments at every stage.
    await Promise.all(
      buyers.map(async (buyer, index) => {
        await turn((index / BUYERS) * KILLING_MS)
        await buy(buyer, `many-${index}`)
        served++
      }),
    )
    const kills = await killing
    expect(kills).toBeGreaterThanOrEqual(KILLS)
    // One after another: two hundred connections at once are too many for the local chain.
    for (const { address } of buyers) expect(await chain.balanceOf(address)).toBe(PRICE)
    expect(await chain.balanceOf(chain.account(0).address)).toBe(BigInt(BUYERS) * PRICE)
  }, 240_000)
})

function turn(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
