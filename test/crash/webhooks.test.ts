import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { type DevChain, paymentHeader, signAuthorization, startDevChain } from '../../src/testing/index.ts'
import { cliProcess } from '../e2e/cli-terminal.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../e2e/webhook-receiver.ts'
import { type Answer, answerOf, eventually, freePort, PRICE } from '../e2e/world.ts'
import { SERVER_PROGRAM } from '../server-program.ts'

const SALES = 6

let chain: DevChain
let dataDir: string
let env: Record<string, string>
let gateway: ChildProcess
let receiver: WebhookReceiver
let tokenApi: Server

beforeAll(async () => {
  chain = await startDevChain()
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-webhooks-'))
  receiver = await startWebhookReceiver()
  // A credential step that fails for one kind of access: such a sale is refunded.
  tokenApi = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const fails = text.includes('"broken"')
    response.writeHead(fails ? 500 : 200, { 'content-type': 'application/json' }).end('{"token":"t"}')
  })
  await new Promise<void>((listening) => tokenApi.listen(0, '127.0.0.1', listening))
  const port = await freePort()
  env = {
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    ADMIN_TOKEN: 'the-token-of-the-operator',
    RPC_URL: chain.rpcUrl,
    SVC_WALLET_ADDRESS: chain.account(0).address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    REFUND_WALLET_PRIVATE_KEY: chain.account(0).privateKey,
    REFUND_INTERVAL_SECONDS: '1',
    PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
    ISSUE_TOKEN_API: `http://127.0.0.1:${(tokenApi.address() as AddressInfo).port}`,
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    DATA_DIR: dataDir,
    POLL_INTERVAL_MS: '50',
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET: receiver.secret,
    WEBHOOK_ALLOW_HOSTS: receiver.host,
  }
  await startGateway()
})
afterAll(async () => {
  gateway?.kill('SIGKILL')
  await receiver?.down()
  tokenApi?.close()
  await chain?.stop()
  await rm(dataDir, { recursive: true, force: true })
})

async function startGateway(): Promise<void> {
  gateway = spawn(process.execPath, [SERVER_PROGRAM, 'serve'], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await eventually(async () => {
    if (gateway.exitCode !== null) throw new Error(`the gateway exited with ${gateway.exitCode}`)
    return (await fetch(`${env.BASE_URL}/health`).catch(() => undefined))?.ok
  })
}

async function kill(): Promise<void> {
  const gone = new Promise((exit) => gateway.once('exit', exit))
  gateway.kill('SIGKILL')
  await gone
}

async function access(requestId: string, resourceId: string, header?: string): Promise<Answer> {
  const response = await fetch(`${env.BASE_URL}/x402/access`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(header && { 'payment-signature': header }) },
    body: JSON.stringify({ planId: 'basic', requestId, resourceId }),
  })
  return answerOf(response)
}

/** As a buyer must: the same payload again until there is an outcome, whatever happens to the server. */
async function buy(requestId: string, resourceId: string): Promise<string> {
  const buyer = await chain.newBuyer({ micro: PRICE })
  const { body } = await eventually(() => access(requestId, resourceId).catch(() => undefined))
  const { accepts, challengeId } = body as PaymentRequired & { challengeId: string }
  const signed = await signAuthorization({ account: buyer.account, requirements: accepts[0]! })
  const header = paymentHeader({ accepted: accepts[0]!, ...signed })
  await eventually(async () => {
    const answer = await access(requestId, resourceId, header).catch(() => undefined)
    return answer && answer.status !== 503
  })
  return challengeId
}

const typesOf = (challengeId: string) => {
  const own = receiver.events.filter(({ data }) => data.challengeId === challengeId)
  return [...new Map(own.map(({ id, type }) => [id, type])).values()]
}

test('every sale and refund arrives although the endpoint is dead and the server is killed, none under two ids', async () => {
  await receiver.down()
  const buying = Array.from({ length: SALES }, (_, index) => buy(`sale-${index}`, 'maps'))
  buying.push(buy('refunded', 'broken'))
  // Killed once after something was sold, and once more right after the start.
  await eventually(async () => (await chain.transfersTo(chain.account(0).address)).length > 1)
  await kill()
  await startGateway()
  await kill()
  await startGateway()
  const ids = await Promise.all(buying)
  await receiver.up()
  const refunded = ids.pop()!
  await eventually(async () => {
    await chain.mine()
    return typesOf(refunded).includes('refund.settled') && ids.every((id) => typesOf(id).length >= 2)
  })
  for (const id of ids) expect(typesOf(id)).toEqual(['payment.settled', 'access.delivered'])
  expect(typesOf(refunded)).toEqual(['payment.settled', 'access.failed', 'refund.pending', 'refund.settled'])
  expect(receiver.forged).toEqual([])
  // It may come twice, but then it is the same event.
  const byId = new Map(receiver.events.map((event) => [event.id, event]))
  for (const event of receiver.events) expect(event).toEqual(byId.get(event.id))
  const [sale] = receiver.events.filter(({ data }) => data.challengeId === ids[0])
  expect(sale).toMatchObject({ type: 'payment.settled', data: { planId: 'basic', amount: String(PRICE) } })
}, 180_000)

test('the operator lists, shows, resends and tests deliveries by command, while the server runs', async () => {
  const run = async (...argv: string[]) => {
    const { code, output, errors } = await cliProcess(env, 'webhooks', ...argv, '--json')
    expect(code, output + errors).toBe(0)
    return JSON.parse(output)
  }
  const { items: all, endpoints, parked } = await run('list')
  // A kill may cost an alert, which is told as well.
  const items = all.filter(({ type }: { type: string }) => type !== 'alert.raised')
  expect(parked).toBe(0)
  expect(endpoints).toMatchObject([{ host: receiver.host, events: null }])
  expect(items).toHaveLength(2 * SALES + 4)
  expect(items[0]).toMatchObject({ phase: 'DELIVERED', attempts: expect.any(Number) })
  expect(items[0].answers.at(-1)).toMatchObject({ status: 200 })
  const shown = await run('show', items[0].key)
  expect(shown.body).toMatchObject({ type: items[0].type, data: { challengeId: items[0].challengeId } })
  const before = receiver.events.length
  expect(await run('resend', items[0].key)).toMatchObject({ resent: 1 })
  await eventually(() => receiver.events.length > before)
  expect(receiver.events.at(-1)).toMatchObject({ id: items[0].eventId })
  const yesterday = new Date(Date.now() - 86_400_000).toISOString()
  expect(await run('resend', '--from', yesterday, '--undelivered')).toMatchObject({ resent: 0 })
  expect(await run('resend', '--from', '2020-01-01')).toMatchObject({ resent: 2 * SALES + 4 })
  expect(await run('test')).toMatchObject({ results: [{ ok: true, status: 200 }] })
  expect(receiver.events.some(({ type }) => type === 'webhook.test')).toBe(true)
  const nothing = await cliProcess(env, 'webhooks', 'resend')
  expect(nothing).toMatchObject({ code: 1, errors: expect.stringContaining('Say what to resend') })
}, 120_000)
