import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { boot } from '../../src/server/boot.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { freePort } from './world.ts'

const ADMIN_TOKEN = 'the-operators-own-token'
const METRICS_TOKEN = 'the-token-of-prometheus'

let chain: DevChain
let dataDir: string
let port: number
let printed: string[]
let running: { close(): Promise<void> } | undefined
let sells: Record<string, string>

beforeAll(async () => {
  chain = await startDevChain()
  sells = {
    RPC_URL: chain.rpcUrl,
    SVC_WALLET_ADDRESS: chain.account(0).address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
    TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    POLL_INTERVAL_MS: '50',
    LOG_LEVEL: 'silent',
  }
})
afterAll(() => chain.stop())
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-boot-'))
  port = await freePort()
  printed = []
})
afterEach(async () => {
  await running?.close()
  running = undefined
  await rm(dataDir, { recursive: true, force: true })
})

async function start(env: Record<string, string>, hosts: string[] = []): Promise<string> {
  const baseUrl = `http://127.0.0.1:${port}`
  running = await boot(
    { PORT: String(port), DATA_DIR: dataDir, BASE_URL: baseUrl, ...env },
    {
      findHost: async (name) => (hosts.includes(name) ? 'found' : 'absent'),
      print: (line) => printed.push(line),
    },
  )
  return env.BASE_URL ?? baseUrl
}

async function buy(baseUrl: string): Promise<void> {
  const { account } = await chain.newBuyer({ micro: 1_000_000n })
  await createBuyer({ account, maxAmount: '$1.00' }).buy(baseUrl, { planId: 'basic' })
}

test('below a base path, everything is: the redirect, the API, the cookie, the printed URL', async () => {
  const baseUrl = `http://127.0.0.1:${port}/pay`
  await start({ BASE_URL: baseUrl })
  const asked = await fetch(`${baseUrl}/x`, { headers: { accept: 'text/html' }, redirect: 'manual' })
  expect(asked.headers.get('location')).toBe('/pay/setup')
  const outside = await fetch(`http://127.0.0.1:${port}/setup/api/state`)
  expect(outside.status).toBe(503)
  const url = new URL(JSON.parse(printed[0]!).url)
  expect(url.pathname).toBe('/pay/setup')
  const login = await fetch(`${baseUrl}/admin/api/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: url.searchParams.get('token') }),
  })
  expect(login.headers.getSetCookie()).toEqual([
    expect.stringContaining('; Path=/pay/admin; '),
    expect.stringContaining('; Path=/pay/setup; '),
  ])
  expect(await (await fetch(`${baseUrl}/admin/api/session`)).json()).toMatchObject({
    loggedIn: false,
    configured: false,
  })
})

test('figures need their token, the operator’s login, or access to their own port', async () => {
  const metricsPort = await freePort()
  const own = `http://127.0.0.1:${metricsPort}`
  const baseUrl = await start({ ...sells, ADMIN_TOKEN, METRICS_TOKEN, METRICS_PORT: String(metricsPort) })
  const status = async (url: string, authorization = '') =>
    (await fetch(url, { headers: { ...(authorization && { authorization }) } })).status
  expect(await status(`${baseUrl}/metrics`)).toBe(401)
  expect(await status(`${baseUrl}/metrics`, 'Bearer guess')).toBe(401)
  expect(await status(`${baseUrl}/metrics`, `Bearer ${METRICS_TOKEN}`)).toBe(200)
  expect(await status(`${baseUrl}/metrics`, `Bearer ${ADMIN_TOKEN}`)).toBe(200)
  expect(await status(`${baseUrl}/setup/api/state`, `Bearer ${METRICS_TOKEN}`), 'figures only').toBe(401)
  expect(await status(`${own}/admin/api/overview`), 'nothing else there').toBe(404)
  await buy(baseUrl)
  const text = await (await fetch(`${own}/metrics`)).text()
  expect(text).toMatch(/^svc_payments_total\{.*\} 1$/m)
})

test('with ADMIN_TOKEN no token is printed; a script uses it as bearer', async () => {
  const baseUrl = await start({ ...sells, ADMIN_TOKEN })
  expect(printed.join()).not.toContain('token=')
  const state = await fetch(`${baseUrl}/setup/api/state`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  expect(await state.json()).toMatchObject({ configured: true, secrets: { TOKEN_SECRET: { set: true } } })
  const landing = await fetch(baseUrl, { headers: { accept: 'text/html' }, redirect: 'manual' })
  expect([landing.status, landing.headers.get('content-type')], 'what is sold').toEqual([
    200,
    'text/html; charset=utf-8',
  ])
})

test('a missing refund key and a misspelt variable are reported at the start; a right configuration reports nothing', async () => {
  const { privateKey } = chain.account(0)
  await start({ ...sells, REFUND_WALLET_PRIVTE_KEY: privateKey })
  const told = () => printed.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn')
  expect(told().map(({ message }) => message)).toEqual([
    'REFUND_WALLET_PRIVTE_KEY is set, and nothing reads it; did you mean REFUND_WALLET_PRIVATE_KEY?',
    expect.stringMatching(/^REFUND_WALLET_PRIVATE_KEY is not set: refunds wait/),
  ])
  expect(printed.join()).not.toContain(privateKey)
  await running!.close()
  printed = []
  await start({ ...sells, REFUND_WALLET_PRIVATE_KEY: privateKey })
  expect(told()).toEqual([])
})

test('records in the embedded store keep the server there, whatever DNS shows later', async () => {
  const baseUrl = await start(sells)
  await buy(baseUrl)
  await running!.close()
  await start(sells, ['postgres', 'redis'])
  expect(await (await fetch(`${baseUrl}/health`)).json()).toMatchObject({ store: 'sqlite' })
  expect(printed.join()).toContain('holds records of payments, so the embedded store stays in use')
  await buy(baseUrl)
})

test('another ADMIN_TOKEN ends every other session', async () => {
  const baseUrl = await start({ ...sells, SVC_WALLET_ADDRESS: '' })
  const json = { 'content-type': 'application/json' }
  const login = async () => {
    const token = new URL(JSON.parse(printed.at(-1)!).url).searchParams.get('token')
    const body = JSON.stringify({ token })
    const response = await fetch(`${baseUrl}/admin/api/login`, { method: 'POST', headers: json, body })
    const { csrf } = (await response.json()) as { csrf: string }
    return { ...json, cookie: response.headers.get('set-cookie')!.split(';')[0]!, 'x-csrf-token': csrf }
  }
  const [one, other] = [await login(), await login()]
  const body = { values: { SVC_WALLET_ADDRESS: sells.SVC_WALLET_ADDRESS }, secrets: { ADMIN_TOKEN } }
  const saved = await fetch(`${baseUrl}/setup/api/save`, {
    method: 'POST',
    headers: one,
    body: JSON.stringify(body),
  })
  expect(saved.status).toBe(200)
  const status = async (headers: Record<string, string>) =>
    (await fetch(`${baseUrl}/setup/api/state`, { headers })).status
  expect([await status(one), await status(other)]).toEqual([200, 401])
})
