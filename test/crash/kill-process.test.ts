import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import {
  type DevAccount,
  type DevChain,
  paymentHeader,
  signAuthorization,
  startDevChain,
  startFacilitator,
  type TestFacilitator,
} from '../../src/testing/index.ts'
import { type Answer, answerOf, freePort, type Strategy } from '../e2e/world.ts'
import { SERVER_PROGRAM } from '../server-program.ts'
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts'

const PRICE = 1_000_000n

let chain: DevChain
let rpc: RpcProxy
let dataDir: string
let baseUrl: string
let tokenApi: { server: Server; url: string; calls: string[]; hang: boolean; called: () => void }
let gateway: ChildProcess
let buyer: DevAccount
let facilitator: TestFacilitator | undefined

async function startAll(strategy: Strategy): Promise<void> {
  chain = await startDevChain()
  facilitator = strategy === 'facilitator' ? await startFacilitator({ chain }) : undefined
  rpc = await startRpcProxy(chain.rpcUrl)
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-crash-'))
  baseUrl = `http://127.0.0.1:${await freePort()}`
  tokenApi = await startTokenApi()
  buyer = await chain.newBuyer({ micro: 5n * PRICE })
  await startGateway().catch(async () => {
    // Another test may have taken the port since it was found free; what else is wrong is wrong at the next one too.
    baseUrl = `http://127.0.0.1:${await freePort()}`
    await startGateway()
  })
}

afterEach(async () => {
  gateway.kill('SIGKILL')
  await rpc.close()
  tokenApi.server.closeAllConnections()
  tokenApi.server.close()
  await facilitator?.stop()
  await chain.stop()
  await rm(dataDir, { recursive: true, force: true })
})

async function startTokenApi(): Promise<typeof tokenApi> {
  const api = { calls: [] as string[], hang: false, called: () => undefined as undefined }
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    const key = String(request.headers['idempotency-key'])
    api.calls.push(key)
    started.called()
    if (started.hang) return
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ token: `token-of-${key}` }))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const started = { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...api }
  return started
}

async function startGateway(): Promise<void> {
  gateway = spawn(process.execPath, [SERVER_PROGRAM, 'serve'], {
    env: {
      PATH: process.env.PATH,
      PORT: new URL(baseUrl).port,
      BASE_URL: baseUrl,
      RPC_URL: rpc.url,
      SVC_WALLET_ADDRESS: chain.account(0).address,
      ...(facilitator
        ? { FACILITATOR_URL: facilitator.url }
        : { GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey }),
      PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
      ISSUE_TOKEN_API: tokenApi.url,
      RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
      DATA_DIR: dataDir,
      POLL_INTERVAL_MS: '50',
      SETTLE_WAIT_SECONDS: '5',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (;;) {
    if (gateway.exitCode !== null)
      throw new Error(`the gateway exited with ${gateway.exitCode}; was it built?`)
    const up = await fetch(`${baseUrl}/health`).catch(() => undefined)
    if (up?.ok) return
    await new Promise((turn) => setTimeout(turn, 20))
  }
}

async function killAndRestart(): Promise<void> {
  const gone = new Promise((exit) => gateway.once('exit', exit))
  gateway.kill('SIGKILL')
  await gone
  rpc.release()
  tokenApi.hang = false
  await startGateway()
}

async function access(header?: string): Promise<Answer> {
  const response = await fetch(`${baseUrl}/x402/access`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(header && { 'payment-signature': header }) },
    body: JSON.stringify({ planId: 'basic', requestId: 'crash-1' }),
  })
  return answerOf(response)
}

async function signed(): Promise<string> {
  const { body } = await access()
  const accepted = (body as PaymentRequired).accepts[0]!
  return paymentHeader({
    accepted,
    ...(await signAuthorization({ account: buyer.account, requirements: accepted })),
  })
}

/** Resends the same payload, as a buyer must, until there is an outcome. */
async function resend(header: string): Promise<Answer> {
  for (;;) {
    const answer = await access(header)
    if (answer.status !== 503) return answer
    await turn(100)
  }
}

async function expectOneGrantForOnePayment(answer: Answer): Promise<void> {
  expect(answer.status).toBe(200)
  expect(answer.body.accessToken).toBe(`token-of-${answer.body.challengeId}`)
  expect(await chain.balanceOf(buyer.address)).toBe(4n * PRICE)
  expect(await chain.balanceOf(chain.account(0).address)).toBe(PRICE)
  expect(await chain.transfersTo(chain.account(0).address)).toHaveLength(1)
}

describe.each<Strategy>(['gas-wallet', 'facilitator'])('by %s', (strategy) => {
  beforeEach(() => startAll(strategy))

  test('killed after the claim and before anything was sent: the retry settles', async () => {
    const header = await signed()
    const looking = rpc.hold('eth_call')
    const lost = access(header).catch(() => undefined)
    await looking
    await killAndRestart()
    await lost
    expect(await chain.transfersTo(chain.account(0).address)).toHaveLength(0)
    await expectOneGrantForOnePayment(await resend(header))
  })

  test('killed after the send and before it was mined: the first transaction pays, and there is no second', async () => {
    const header = await signed()
    await chain.setAutomine(false)
    const lost = access(header).catch(() => undefined)
    for (;;) {
      const pending = await chain.client.request({ method: 'txpool_status' } as never)
      if (Number((pending as { pending: string }).pending) > 0) break
      await turn(20)
    }
    await killAndRestart()
    await lost
    expect((await access()).status).toBe(503)
    await chain.setAutomine(true)
    await chain.mine(1)
    await expectOneGrantForOnePayment(await resend(header))
  })

  test('killed after the send and mined while no process was running: found by its event', async () => {
    const header = await signed()
    const sending = rpc.hold('eth_getTransactionReceipt')
    const lost = access(header).catch(() => undefined)
    await sending
    const mined = () => chain.transfersTo(chain.account(0).address)
    await expect.poll(mined, { timeout: 60_000 }).toHaveLength(1)
    await killAndRestart()
    await lost
    await expectOneGrantForOnePayment(await resend(header))
  })

  test('killed when PAID and before the credential: it is issued after the restart, under the same key', async () => {
    const header = await signed()
    tokenApi.hang = true
    const asked = new Promise<void>((called) => {
      tokenApi.called = called
    })
    const lost = access(header).catch(() => undefined)
    await asked
    await killAndRestart()
    await lost
    await expectOneGrantForOnePayment(await resend(header))
    expect(new Set(tokenApi.calls).size).toBe(1)
  })

  test('killed after the answer: the same payload gets the same grant again', async () => {
    const header = await signed()
    const first = await resend(header)
    await killAndRestart()
    const second = await access(header)
    expect(second.headers.get('x-svc-code')).toBe('PROOF_ALREADY_REDEEMED')
    expect(second.body).toEqual(first.body)
    await expectOneGrantForOnePayment(second)
  })
})
