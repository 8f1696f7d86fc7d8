import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { type DevChain, paymentHeader, signAuthorization, startDevChain } from '../../src/testing/index.ts'
import { startPostgres } from '../../src/testing/postgres-server.ts'
import { startRedis } from '../../src/testing/redis-server.ts'
import { repetitions } from '../at-length.ts'
import { SERVER_PROGRAM } from '../server-program.ts'
import { startBackend, type TestBackend } from './routes-world.ts'
import { type Answer, answerOf, freePort, PRICE } from './world.ts'

/**
 * `CREDITS_CALLS=1000` is the full size, in which instances of shared stores are killed too. What a killed one of them
 * had reserved is free a minute later, which is too long for every run.
 */
const CALLS = Number(process.env.CREDITS_CALLS ?? repetitions({ few: 15, many: 100 }))
const FULL = CALLS >= 1000
const ACCOUNTS = repetitions({ few: 8, many: 20 })
const WORKERS = 4
const SPARE = 10

interface Running {
  child: ChildProcess
  url: string
}

async function startFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'paystile-credits-'))
  return { url: folder, stop: () => rm(folder, { recursive: true, force: true }) }
}

describe.each([
  { name: 'embedded', startStore: startFolder, variable: 'DATA_DIR', instances: 1 },
  { name: 'Postgres', startStore: startPostgres, variable: 'DATABASE_URL', instances: 3 },
  { name: 'Redis', startStore: startRedis, variable: 'REDIS_URL', instances: 3 },
])('$instances processes on the $name store', ({ name, startStore, variable, instances }) => {
  let chain: DevChain
  let store: { url: string; stop(): Promise<unknown> }
  let backend: TestBackend
  let env: NodeJS.ProcessEnv
  const running: Running[] = []

  beforeAll(async () => {
    ;[chain, store, backend] = await Promise.all([startDevChain(), startStore(), startBackend()])
    env = {
      PATH: process.env.PATH,
      [variable]: store.url,
      SVC_MANAGED_INFRA: 'none',
      SVC_SECRET_KEY: 'one-secret-for-all-instances-of-this-shop',
      RPC_URL: chain.rpcUrl,
      SVC_WALLET_ADDRESS: chain.account(0).address,
      GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
      PLANS: JSON.stringify([
        { planId: 'basic', unitAmount: '$1.00', credits: CALLS + SPARE },
        { planId: 'small', unitAmount: '$1.00', credits: 50 },
      ]),
      ROUTES: JSON.stringify([
        { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', credits: 1 },
      ]),
      PROXY_TO_BASE_URL: backend.url,
      TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
      BASE_URL: 'http://shop.test',
      POLL_INTERVAL_MS: '200',
      SETTLE_WAIT_SECONDS: '1',
      RATE_LIMIT_PER_MINUTE: '0',
    }
    for (let index = 0; index < instances; index++) running.push(await startInstance(await freePort()))
  }, 180_000)

  afterAll(async () => {
    for (const { child } of running) child.kill('SIGKILL')
    await Promise.all([store?.stop(), chain?.stop(), backend?.stop()])
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

  let turnOf = 0
  /** Round robin, as a load balancer does; undefined: the connection broke. */
  async function request(path: string, init: RequestInit): Promise<Answer | undefined> {
    const { url } = running[turnOf++ % instances]!
    const response = await fetch(`${url}${path}`, init).catch(() => undefined)
    return response && answerOf(response).catch(() => undefined)
  }

  async function buy(planId: string): Promise<string> {
    const buyer = await chain.newBuyer({ micro: PRICE })
    const access = (payment?: string) =>
      request('/x402/access', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(payment && { 'payment-signature': payment }) },
        body: JSON.stringify({ planId }),
      })
    const accepted = ((await access())!.body as PaymentRequired).accepts[0]!
    const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
    const header = paymentHeader({ accepted, ...signed })
    for (;;) {
      const bought = await access(header)
      if (bought?.status === 200) return `Bearer ${bought.body.accessToken}`
    }
  }

  function call(authorization: string, path: string, key?: string): Promise<Answer | undefined> {
    return request(path, { headers: { authorization, ...(key && { 'idempotency-key': key }) } })
  }

  test('100 calls at once on 50 credits: exactly 50 are served', async () => {
    const token = await buy('small')
    backend.seen.length = 0
    const answers = await Promise.all(Array.from({ length: 100 }, () => call(token, '/weather/paris')))
    const of = (status: number) => answers.filter((answer) => answer?.status === status).length
    expect([of(200), of(402)]).toEqual([50, 50])
    expect(backend.seen.length).toBe(50)
  })

  /** Kills one instance a second, each time another, and starts it again. */
  async function killWhile(isBusy: (kills: number) => boolean): Promise<number> {
    let kills = 0
    while (isBusy(kills)) {
      await turn(1000)
      const index = kills++ % instances
      const victim = running[index]!
      const gone = new Promise((exit) => victim.child.once('exit', exit))
      victim.child.kill('SIGKILL')
      await gone
      running[index] = await startInstance(Number(new URL(victim.url).port))
    }
    return kills
  }

  /** Calls under their names until each was answered, one after the other by a few workers; answers what each got. */
  async function spendAll(token: string): Promise<Map<number, string>> {
    const open = Array.from({ length: CALLS }, (_, index) => index)
    const answers = new Map<number, string>()
    let open429 = 0
    async function work(): Promise<void> {
      for (let index = open.shift(); index !== undefined; index = open.shift()) {
        const answer = await call(token, `/weather/${index}`, `call-${index}`)
        if (answer?.status === 200) answers.set(index, JSON.stringify(answer.body))
        else {
          // Unknown, under way elsewhere, or held by a call that was killed: others come first.
          if (answer && ![402, 408, 429, 500, 502, 503].includes(answer.status))
            throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
          if (answer?.status === 429) open429++
          open.push(index)
          await turn(open.length < 2 * WORKERS ? 500 : 20)
        }
      }
    }
    await Promise.all(Array.from({ length: WORKERS }, work))
    expect(open429).toBe(0)
    return answers
  }

  test(`${ACCOUNTS} accounts x ${CALLS} calls: spent equals answered, to the credit`, async () => {
    const tokens: string[] = []
    for (let index = 0; index < ACCOUNTS; index++) tokens.push(await buy('basic'))
    backend.seen.length = 0
    let busy = true
    const isKilled = FULL || instances === 1
    const began = Date.now()
    const killing = isKilled ? killWhile((kills) => busy && (FULL || kills < 3)) : Promise.resolve(0)
    const answers = await Promise.all(tokens.map(spendAll))
    busy = false
    const kills = await killing
    for (const [index, token] of tokens.entries()) {
      expect(answers[index]!.size).toBe(CALLS)
      // The same call again is answered from the store, and tells what is left.
      const again = (await call(token, '/weather/0', 'call-0'))!
      expect(again.status).toBe(200)
      expect(again.headers.get('x-svc-credits-remaining')).toBe(String(SPARE))
      expect((again.body as { resource?: unknown }).resource).toEqual(
        JSON.parse(answers[index]!.get(0)!).resource,
      )
    }
    if (FULL)
      console.log(
        `${name}: ${ACCOUNTS * CALLS} calls answered and debited in ${Date.now() - began} ms, ${kills} kills, ${backend.seen.length} backend calls`,
      )
    if (isKilled) expect(kills).toBeGreaterThan(0)
    else expect(backend.seen.length).toBe(ACCOUNTS * CALLS)
  }, 600_000)
})
