import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { boot } from '../../src/server/boot.ts'
import { type DevChain, paymentHeader, signAuthorization, startDevChain } from '../../src/testing/index.ts'
import { freePort, PRICE } from './world.ts'

const TOKEN = 'the-token-of-the-operator'
let chain: DevChain
let folder: string
let base: string
let server: { close(): Promise<void> } | undefined
let port: number

beforeAll(async () => {
  chain = await startDevChain()
  folder = await mkdtemp(join(tmpdir(), 'paystile-operator-mcp-'))
  port = await freePort()
  base = `http://127.0.0.1:${port}`
})
afterEach(() => server?.close())
afterAll(async () => {
  await chain.stop()
  await rm(folder, { recursive: true, force: true })
})

async function start(more: Record<string, string> = {}): Promise<void> {
  const env = {
    ...{
      DATA_DIR: folder,
      PORT: String(port),
      BASE_URL: base,
      SVC_MANAGED_INFRA: 'none',
      LOG_LEVEL: 'silent',
    },
    ...{ SVC_WALLET_ADDRESS: chain.account(0).address, GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey },
    ...{ RPC_URL: chain.rpcUrl, PLANS: JSON.stringify([{ planId: 'basic', unitAmount: '$1.00' }]) },
    ...{ TOKEN_SECRET: 'a shared secret of more than thirty-two bytes', ADMIN_TOKEN: TOKEN },
    ...{ RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}' },
    ...{ POLL_INTERVAL_MS: '50', ...more },
  }
  server = await boot(env, { print: () => {} })
}

async function agent(token: string): Promise<Client> {
  const client = new Client({ name: 'operator', version: '1.0.0' })
  const headers = { authorization: `Bearer ${token}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${base}/admin/mcp`), { requestInit: { headers } }),
  )
  return client
}

async function ask(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { content, isError } = await client.callTool({ name, arguments: args })
  const [first] = content
  if (first?.type !== 'text') throw new Error('the answer is no text')
  return { isError: isError === true, ...(JSON.parse(first.text) as Record<string, unknown>) }
}

async function sell(): Promise<string> {
  const send = (headers: Record<string, string> = {}) =>
    fetch(`${base}/x402/access`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ planId: 'basic' }),
    })
  const asked = await send()
  const terms = decodeJsonObject(asked.headers.get('payment-required')!) as unknown as PaymentRequired
  const [accepted] = terms.accepts
  const { account } = await chain.newBuyer({ micro: PRICE })
  const signed = await signAuthorization({ account, requirements: accepted! })
  const paid = await send({ 'payment-signature': paymentHeader({ accepted: accepted!, ...signed }) })
  expect(paid.status).toBe(200)
  return ((await paid.json()) as { challengeId: string }).challengeId
}

test('the operator’s agent is told what sold, what waits and why, and changes nothing', async () => {
  await start()
  const challengeId = await sell()
  const client = await agent(TOKEN)
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    ...[
      'sales_overview',
      'list_sales',
      'show_sale',
      'list_refunds',
      'list_credits',
      'list_webhooks',
      'doctor',
    ],
  ])
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true)
  expect(await ask(client, 'list_sales', { state: 'DELIVERED' })).toMatchObject({
    isError: false,
    total: 1,
    items: [{ challengeId }],
  })
  expect(await ask(client, 'show_sale', { challengeId })).toMatchObject({ isError: false })
  expect(await ask(client, 'sales_overview')).toMatchObject({ isError: false })
  expect(await ask(client, 'list_refunds')).toEqual({ isError: false, items: [] })
  expect(await ask(client, 'list_credits')).toMatchObject({ isError: false })
  const { findings } = (await ask(client, 'doctor')) as { findings?: Array<{ level: string }> }
  expect(findings!.length).toBeGreaterThan(3)
  for (const name of ['retry_refund', 'close_credits', 'cancel_challenge', 'resend_webhooks']) {
    const error = expect.stringMatching(`^${name} changes something.*ADMIN_MCP_WRITES=on`)
    expect(await ask(client, name, { challengeId })).toEqual({ isError: true, error })
  }
  await expect(client.callTool({ name: 'spend', arguments: {} })).rejects.toThrow('There is no tool "spend"')
  expect(await ask(client, 'list_sales', { stat: 'DELIVERED' })).toMatchObject({
    isError: true,
    error: expect.stringContaining('unknown "stat"'),
  })
  expect(await ask(client, 'show_sale', { challengeId: '../refunds' })).toMatchObject({ isError: true })
  await client.close()
})

test('with writing allowed it may act, within the same rules as the operator’s pages', async () => {
  const nobody = '127.0.0.1:1'
  await start({
    ...{ ADMIN_MCP_WRITES: 'on', WEBHOOK_URL: `http://${nobody}/hooks`, WEBHOOK_ALLOW_HOSTS: nobody },
    PLANS: '[{"planId":"basic","unitAmount":"$1.00","credits":4}]',
  })
  const challengeId = await sell()
  const client = await agent(TOKEN)
  const { tools } = await client.listTools()
  expect(tools.filter(({ annotations }) => annotations?.destructiveHint).map(({ name }) => name)).toEqual([
    ...['retry_refund', 'close_credits', 'cancel_challenge', 'resend_webhooks'],
  ])
  expect(await ask(client, 'retry_refund', { challengeId })).toMatchObject({
    isError: true,
    error: expect.stringContaining(
      'is DELIVERED and no refund of it has failed; only failed ones are retried',
    ),
  })
  expect(await ask(client, 'close_credits', { challengeId })).toMatchObject({
    ...{ isError: false, status: 'closed', granted: 4, spent: 0 },
    refund: { value: String(PRICE) },
  })
  const offer = await fetch(`${base}/x402/access`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ planId: 'basic', requestId: 'an-offer-to-cancel' }),
  })
  const { challengeId: open } = (await offer.json()) as { challengeId: string }
  expect(await ask(client, 'cancel_challenge', { challengeId: open })).toMatchObject({
    isError: false,
    state: 'CANCELLED',
  })
  expect(await ask(client, 'resend_webhooks')).toMatchObject({
    isError: true,
    error: expect.stringContaining('or from (and to)'),
  })
  const range = { from: new Date(Date.now() - 86_400_000).toISOString(), undelivered: true }
  const again = (await ask(client, 'resend_webhooks', range)) as { resent?: number }
  expect(again.resent).toBeGreaterThanOrEqual(2)
  await client.close()
})

test('nobody else is served', async () => {
  await start()
  await expect(agent('not-the-token-of-the-operator')).rejects.toThrow()
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const post = (headers: Record<string, string>) =>
    fetch(`${base}/admin/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: message,
    })
  expect((await post({})).status).toBe(401)
  expect((await post({ authorization: `Bearer ${TOKEN}`, origin: 'https://evil.example' })).status).toBe(403)
  const read = await fetch(`${base}/admin/mcp`, { headers: { authorization: `Bearer ${TOKEN}` } })
  expect([read.status, read.headers.get('allow')]).toEqual([405, 'POST'])
})
