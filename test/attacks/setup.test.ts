import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SAVED_NAMES } from '../../src/config/config-file.ts'
import { isSecret } from '../../src/config/secret-variables.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { type SetupServer, startServer } from '../e2e/setup-server.ts'
import { freePort } from '../e2e/world.ts'

const ADMIN_TOKEN = 'the-operators-own-token'
const HOSTILE = `x\n$(touch pwned) \`touch pwned\` "'\\ \${HOME}\r\nSet-Cookie: svc_admin=stolen`
const json = { 'content-type': 'application/json' }

let chain: DevChain
let dataDir: string
let server: SetupServer
let values: Record<string, unknown>
let secrets: Record<string, string>

beforeAll(async () => {
  chain = await startDevChain()
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-attack-'))
  const baseUrl = `http://127.0.0.1:${await freePort()}`
  server = await startServer({ DATA_DIR: dataDir, BASE_URL: baseUrl, ADMIN_TOKEN }, baseUrl)
  values = {
    SVC_WALLET_ADDRESS: chain.account(0).address,
    PLANS: [{ planId: 'basic', unitAmount: '$1.00' }],
    ROUTES: [{ routeId: 'r', method: 'GET', path: '/r', unitAmount: '$0.01' }],
    PROXY_TO_BASE_URL: chain.rpcUrl,
    AGENT_NAME: HOSTILE,
  }
  secrets = {
    RPC_URL: `${chain.rpcUrl}/v2/secret-rpc-key-0123456789`,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    REFUND_WALLET_PRIVATE_KEY: chain.account(2).privateKey,
    TOKEN_SECRET: 'secret-of-tokens-0123456789-0123456789',
    SVC_SECRET_KEY: 'secret-key-of-challenges-0123456789-01',
    PROXY_SECRET: 'secret-of-the-proxy',
    ALERT_WEBHOOK_URL: `${chain.rpcUrl}/secret-webhook-0123456789`,
  }
  await server.login(ADMIN_TOKEN)
  const saved = await server.api('/setup/api/save', { values, secrets })
  expect([saved.status, await saved.json()]).toEqual([200, { saved: true, live: true, url: baseUrl }])
})
afterAll(async () => {
  await server.stop('SIGKILL')
  await chain.stop()
  await rm(dataDir, { recursive: true, force: true })
})

const OPERATOR_CALLS: ReadonlyArray<[method: string, path: string]> = [
  ['GET', '/setup/api/state'],
  ['POST', '/setup/api/check'],
  ['POST', '/setup/api/save'],
  ['GET', '/admin/api/overview'],
  ['GET', '/admin/api/challenges'],
  ['GET', '/admin/api/challenges/http-x'],
  ['POST', '/admin/api/challenges/http-x/cancel'],
  ['POST', '/admin/api/challenges/http-x/retry-refund'],
  ['POST', '/admin/api/challenges/http-x/resolve-refund'],
  ['GET', '/admin/api/refunds'],
  ['GET', '/admin/api/export?format=csv'],
  ['GET', '/admin/api/events'],
  ['POST', '/admin/api/alerts/clear'],
  ['POST', '/admin/api/logout'],
  ['GET', '/admin/api/no-such-thing'],
  ['DELETE', '/setup/api/state'],
  ['GET', '/metrics'],
]

test('attack 36: once configured, only the operator gets an answer from setup or admin', async () => {
  for (const path of ['/setup', '/admin']) {
    const page = await server.request(path, { headers: { accept: 'text/html' } })
    // 503: the pages are not built here; never 200.
    expect([401, 503], path).toContain(page.status)
  }
  for (const [method, path] of OPERATOR_CALLS) {
    const body = method === 'POST' ? { body: '{}' } : {}
    for (const headers of [
      json,
      { ...json, authorization: 'Basic eDp5' },
      { ...json, cookie: 'svc_admin=x' },
    ]) {
      const response = await server.request(path, { method, headers, ...body })
      expect(response.status, `${method} ${path}`).toBe(401)
      expect(await response.json()).toEqual({ error: expect.any(String) })
      expect(response.headers.get('access-control-allow-origin')).toBeNull()
    }
  }
})

test('attack 36: another site can make no browser of the operator change anything', async () => {
  const preflight = await server.request('/setup/api/save', {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
  })
  expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  const before = await readFile(join(dataDir, 'config.json'), 'utf8')
  const noToken = await server.api('/setup/api/save', { values: {} }, { 'x-csrf-token': '' })
  expect(noToken.status).toBe(403)
  const form = await server.api('/setup/api/save', 'values=', {
    'content-type': 'application/x-www-form-urlencoded',
  })
  expect(form.status).toBe(415)
  expect(await readFile(join(dataDir, 'config.json'), 'utf8')).toBe(before)
})

test('attack 36: newlines, quotes and $(…) are text: saved, shown and served as they are, and never executed', async () => {
  const AGENT_NAME = HOSTILE.trim()
  expect(await (await server.request('/discover')).json()).toMatchObject({ agentName: AGENT_NAME })
  expect(await (await server.api('/setup/api/state')).json()).toMatchObject({ values: { AGENT_NAME } })
  const file = JSON.parse(await readFile(join(dataDir, 'config.json'), 'utf8'))
  expect(file.values.AGENT_NAME).toBe(HOSTILE)
  expect(await readdir(dataDir)).not.toContain('pwned')
  expect(await readdir('.')).not.toContain('pwned')
})

test('I11: no answer and no log line contains a secret that was set', async () => {
  const texts: string[] = []
  const note = async (response: Response) => {
    texts.push(JSON.stringify([...response.headers]), await response.text())
  }
  for (const [method, path] of OPERATOR_CALLS) {
    if (path === '/admin/api/events' || path === '/admin/api/logout') continue
    await note(await server.api(path, method === 'POST' ? { values, secrets } : undefined))
  }
  // Wrong values too: an error must not repeat what it complains of.
  const wrong = Object.fromEntries(
    SAVED_NAMES.filter((name) => isSecret(name) && name !== 'ADMIN_TOKEN').map((name) => [
      name,
      `hunter2-${name}`,
    ]),
  )
  await note(await server.api('/setup/api/check', { values, secrets: wrong }))
  await note(await server.api('/setup/api/save', { values, secrets: wrong }))
  for (const path of ['/discover', '/health', '/ready', '/nowhere']) await note(await server.request(path))
  texts.push(server.output())
  const all = texts.join('\n')
  const known = [...Object.values(secrets), ...Object.values(wrong), ADMIN_TOKEN]
  const forms = known.flatMap((secret) => [secret, secret.replace(/^0x/, ''), secret.split('/').at(-1)!])
  expect(forms.filter((secret) => all.includes(secret))).toEqual([])
})

test('attack 37: what ships answers its own endpoints and no others', async () => {
  const missing = await server.request('/no-such-endpoint')
  expect(missing.status).toBe(404)
  const { endpoints } = (await missing.json()) as { endpoints: string[] }
  for (const endpoint of endpoints)
    expect(endpoint).not.toMatch(/debug|test|fault|sandbox|setup|admin|metrics/i)
  const probes = [
    ...['debug', 'test', 'testing', 'sandbox', 'faults', '__debug', '_debug', 'debug/pprof', 'dev', 'mint'],
    ...[
      'env',
      '.env',
      'config',
      'config.json',
      'data/config.json',
      'secret-key',
      'paystile.db',
      '.git/config',
    ],
    ...[
      'heapdump',
      'json/list',
      'console',
      'shutdown',
      'reset',
      'eval',
      'trace',
      'actuator',
      'server-status',
    ],
    ...[
      'x402/debug',
      'x402/mint',
      'x402/settle',
      'x402/reset',
      'health/debug',
      'admin/assets/../config.json',
    ],
    ...[
      'admin/assets/%2e%2e/%2e%2e/package.json',
      'admin/assets/..%2f..%2fcli/main.js',
      'admin/debug',
      'setup/debug',
    ],
  ]
  for (const probe of probes) {
    for (const method of ['GET', 'POST']) {
      const { status } = await server.request(`/${probe}`, { method })
      expect([404, 405], `${method} /${probe}`).toContain(status)
    }
  }
  for (const probe of [
    'setup/api/debug',
    'admin/api/debug',
    'admin/api/eval',
    'setup/api/reset',
    'admin/api',
  ]) {
    expect((await server.api(`/${probe}`)).status, probe).toBe(404)
  }
})

test('attack 33: setup and admin take no large bodies, and read none of strangers', async () => {
  const announce = (path: string, headers = '') =>
    new Promise<string>((answered) => {
      const { hostname, port } = new URL(server.baseUrl)
      const socket = connect(Number(port), hostname)
      socket.on('error', () => answered(''))
      socket.once('data', (chunk) => {
        answered(String(chunk).slice(9, 12))
        socket.destroy()
      })
      const length = `content-type: application/json\r\ncontent-length: ${1024 ** 3}\r\n`
      socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${length}${headers}\r\n`)
    })
  const bearer = `authorization: Bearer ${ADMIN_TOKEN}\r\n`
  expect(await announce('/admin/api/login')).toBe('413')
  expect(await announce('/setup/api/save')).toBe('401')
  expect(await announce('/setup/api/save', bearer)).toBe('413')
  expect(await announce('/setup/api/check', bearer)).toBe('413')
  expect(await announce('/admin/api/challenges/http-x/resolve-refund', bearer)).toBe('413')
  const large = await server.api('/setup/api/check', { values: { AGENT_NAME: 'x'.repeat(600_000) } })
  expect(large.status).toBe(413)
})
