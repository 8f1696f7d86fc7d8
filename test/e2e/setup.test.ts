import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import type { CheckedCandidate } from '../../src/server/setup/check-candidate.ts'
import type { SetupState } from '../../src/server/setup/describe-state.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { type SetupServer, startServer } from './setup-server.ts'
import { freePort } from './world.ts'

const PLANS = [{ planId: 'basic', unitAmount: '$1.00', description: 'It\'s "all" of $(it)\n`now`' }]
/** Whole processes start several times, on a machine that may be busy. */
const SLOW = { timeout: 180_000 }
const TOKEN_SECRET = 'a shared secret of more than thirty-two bytes'

let chain: DevChain
let dataDir: string
let baseUrl: string
let server: SetupServer
let environment: Record<string, string>
let values: Record<string, unknown>
let secrets: Record<string, string>

beforeAll(async () => {
  chain = await startDevChain()
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-setup-'))
  baseUrl = `http://127.0.0.1:${await freePort()}`
  environment = { DATA_DIR: dataDir, BASE_URL: baseUrl, POLL_INTERVAL_MS: '50' }
  values = {
    SVC_WALLET_ADDRESS: chain.account(0).address,
    PLANS,
    AGENT_NAME: 'Weather',
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
  }
  secrets = {
    RPC_URL: chain.rpcUrl,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    TOKEN_SECRET,
  }
})
afterAll(async () => {
  await server?.stop('SIGKILL')
  await chain.stop()
  await rm(dataDir, { recursive: true, force: true })
})

async function check(body: unknown): Promise<CheckedCandidate> {
  return (await (await server.api('/setup/api/check', body)).json()) as CheckedCandidate
}

async function buy(): Promise<void> {
  const { account } = await chain.newBuyer({ micro: 1_000_000n })
  const { grant } = await createBuyer({ account, maxAmount: '$1.00' }).buy(baseUrl, { planId: 'basic' })
  expect(grant.tokenType).toBe('Bearer')
}

test(
  'unconfigured, configured in the browser without a restart, sells, and is still configured after one',
  SLOW,
  async () => {
    server = await startServer(environment, baseUrl)
    const html = { headers: { accept: 'text/html' } }
    const asked = await server.request('/anything', html)
    expect([asked.status, asked.headers.get('location')]).toEqual([302, '/setup'])
    const network = 'eip155:84532'
    const known = { status: 'ok', network, store: 'sqlite' }
    const health = async () => (await server.request('/health')).json()
    expect(await health()).toMatchObject({ ...known, configured: false })
    const probe = await server.request('/ready', { headers: { accept: 'text/html' } })
    expect([probe.status, probe.headers.get('location')]).toEqual([503, null])
    for (const path of ['/ready', '/discover']) {
      const refused = await server.request(path)
      expect(refused.status).toBe(503)
      expect(await refused.json()).toMatchObject({
        type: 'Error',
        message: expect.stringContaining('not configured'),
      })
    }
    expect((await server.api('/setup/api/state')).status).toBe(401)
    expect((await server.login('a guess')).status).toBe(401)

    const login = server.loginUrl()
    expect(login.pathname).toBe('/setup')
    const token = login.searchParams.get('token')!
    expect((await server.login(token)).status).toBe(200)
    expect((await server.login(token)).status, 'a printed token is good once').toBe(401)
    const state = (await (await server.api('/setup/api/state')).json()) as SetupState
    expect(state).toMatchObject({
      configured: false,
      values: { BASE_URL: baseUrl, DATA_DIR: dataDir },
      secrets: { TOKEN_SECRET: { set: false } },
      faults: [],
    })
    expect(state.locked).toEqual(expect.arrayContaining(['BASE_URL', 'DATA_DIR', 'POLL_INTERVAL_MS']))
    expect(state.missing).toHaveLength(3)

    const wrong = { ...values, SVC_WALLET_ADDRESS: '0x1234' }
    const checked = await check({ values: wrong, secrets })
    expect(checked.fields.SVC_WALLET_ADDRESS).toEqual({
      level: 'error',
      message: expect.stringContaining('4 hex digits'),
    })
    expect(checked.fields.RPC_URL).toEqual({ level: 'ok', message: expect.stringContaining('block') })
    expect(checked.fields.GAS_WALLET_PRIVATE_KEY?.level).toBe('ok')
    expect(checked.preview).toBeNull()
    const refused = await server.api('/setup/api/save', { values: wrong, secrets })
    expect(refused.status).toBe(422)
    expect(await refused.json()).toEqual({
      faults: [{ name: 'SVC_WALLET_ADDRESS', message: expect.stringContaining('4 hex digits') }],
      missing: [],
    })

    const right = await check({ values, secrets })
    expect(right).toMatchObject({
      faults: [],
      missing: [],
      preview: { accepts: [{ amount: '1000000', extra: { planId: 'basic' } }] },
    })
    const saved = await server.api('/setup/api/save', { values, secrets })
    expect(await saved.json()).toEqual({ saved: true, live: true, url: baseUrl })
    expect((await stat(join(dataDir, 'config.json'))).mode & 0o777).toBe(0o600)
    expect(JSON.parse(await readFile(join(dataDir, 'config.json'), 'utf8')).values.PLANS).toEqual(PLANS)
    expect((await server.request('/ready')).status).toBe(200)
    expect(await health()).toMatchObject(known)
    await buy()

    expect(await server.stop()).toBe(0)
    server = await startServer(environment, baseUrl)
    expect(server.output()).toContain('"message":"ready"')
    expect(server.loginUrl().pathname).toBe('/admin')
    await buy()
  },
)

test('attack 36: once configured, setup is closed without a login', async () => {
  const page = await server.request('/setup', { headers: { accept: 'text/html' } })
  expect([401, 503]).toContain(page.status)
  for (const [path, body] of [
    ['/setup/api/state', undefined],
    ['/setup/api/check', { values }],
    ['/setup/api/save', { values }],
  ] as const) {
    expect((await server.api(path, body)).status, path).toBe(401)
  }
})

test('a saved change is live at once, buyers never notice, and a bad one changes nothing', SLOW, async () => {
  expect((await server.login(server.loginUrl().searchParams.get('token')!)).status).toBe(200)
  let stop = false
  const seen = new Set<number>()
  const buyers = (async () => {
    while (!stop) {
      const response = await server.request('/x402/access', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ planId: 'basic', requestId: crypto.randomUUID() }),
      })
      seen.add(response.status)
    }
  })()
  const paying = Promise.all(Array.from({ length: 6 }, buy))
  for (const AGENT_NAME of ['Rain', 'Snow', 'Sun']) {
    const saved = await server.api('/setup/api/save', { values: { ...values, AGENT_NAME } })
    expect(saved.status).toBe(200)
    expect(await (await server.request('/discover')).json()).toMatchObject({ agentName: AGENT_NAME })
  }
  const unreachable = { DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c', SVC_SECRET_KEY: 'k'.repeat(40) }
  const refused = await server.api('/setup/api/save', { values, secrets: unreachable })
  expect(refused.status).toBe(409)
  const unproven = await server.api('/setup/api/save', { values, secrets: unreachable, confirm: true })
  expect(unproven.status).toBe(403)
  const token = server.loginUrl().searchParams.get('token')
  const failed = await server.api('/setup/api/save', { values, secrets: unreachable, confirm: true, token })
  expect(failed.status).toBe(503)
  await paying
  await buy()
  stop = true
  await buyers
  expect([...seen]).toEqual([402])
  expect(await (await server.request('/discover')).json()).toMatchObject({ agentName: 'Sun' })
  const file = JSON.parse(await readFile(join(dataDir, 'config.json'), 'utf8'))
  expect(file.values).toMatchObject({ AGENT_NAME: 'Sun' })
  expect(file.values.DATABASE_URL).toBeUndefined()
})

test('a saved file that was damaged opens setup with the fault, and the data is kept', SLOW, async () => {
  await server.stop()
  const path = join(dataDir, 'config.json')
  const good = await readFile(path, 'utf8')
  await writeFile(path, good.replace('"version": 1,', '"version": 1'))
  server = await startServer({ ...environment, ADMIN_TOKEN: 'an-operators-own-token' }, baseUrl)
  await server.login('an-operators-own-token')
  const state = (await (await server.api('/setup/api/state')).json()) as SetupState
  expect(state.configured).toBe(false)
  expect(state.faults).toEqual([expect.stringMatching(/config\.json is no valid JSON at line 3, column/)])
  await writeFile(path, good.replace(chain.account(0).address, '0x1234'))
  await server.stop()
  server = await startServer({ ...environment, ADMIN_TOKEN: 'an-operators-own-token' }, baseUrl)
  await server.login('an-operators-own-token')
  const again = (await (await server.api('/setup/api/state')).json()) as SetupState
  expect(again.faults).toEqual([expect.stringContaining('SVC_WALLET_ADDRESS has 4 hex digits')])
  const fixed = await server.api('/setup/api/save', { values, token: 'an-operators-own-token' })
  expect(fixed.status).toBe(200)
  await buy()
})
