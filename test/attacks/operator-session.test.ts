import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cli } from '../e2e/cli-terminal.ts'
import { type SetupServer, startServer } from '../e2e/setup-server.ts'
import { freePort } from '../e2e/world.ts'

const ADMIN_TOKEN = 'the-operators-own-token'
const OURS = `0x${'11'.repeat(20)}`
const THIEF = `0x${'66'.repeat(20)}`
const json = { 'content-type': 'application/json' }

let backend: Server
let seen: IncomingHttpHeaders[] = []
let dataDir: string
let server: SetupServer
let values: Record<string, unknown>

beforeAll(async () => {
  backend = createServer((request, response) => {
    seen.push(request.headers)
    const type = new URL(request.url!, 'http://x').searchParams.get('type') ?? 'text/html'
    response.writeHead(200, {
      'content-type': type,
      'content-security-policy': "default-src 'self'",
      'set-cookie': ['theirs=1', 'svc_admin=planted; Path=/admin', '=svc_admin=planted'],
      'service-worker-allowed': '/',
      'clear-site-data': '"cookies"',
    })
    response.end('<script>alert(1)</script>')
  })
  await new Promise<void>((listening) => backend.listen(0, '127.0.0.1', listening))
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-attack-'))
  const baseUrl = `http://127.0.0.1:${await freePort()}`
  // Nothing is bought here, so no chain has to answer.
  const RPC_URL = `http://127.0.0.1:${await freePort()}`
  server = await startServer({ DATA_DIR: dataDir, BASE_URL: baseUrl, RPC_URL, ADMIN_TOKEN }, baseUrl)
  values = {
    SVC_WALLET_ADDRESS: OURS,
    ROUTES: [{ routeId: 'site', method: 'GET', path: '/site/:page', free: true }],
    PROXY_TO_BASE_URL: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
  }
  await server.login(ADMIN_TOKEN)
  const saved = await server.api('/setup/api/save', { values })
  expect([saved.status, await saved.text()]).toEqual([200, expect.stringContaining('"live":true')])
  seen = []
})
afterAll(async () => {
  await server?.stop('SIGKILL')
  backend?.close()
  await rm(dataDir, { recursive: true, force: true })
})

const walletNow = async () =>
  ((await (await server.request('/discover')).json()) as { walletAddress: string }).walletAddress

describe('the backend', () => {
  test('attack 40: never sees the operator’s cookie, and cannot plant another', async () => {
    const answer = await server.api('/site/home', undefined, { cookie: 'a=1; svc_admin=session; b=2' })
    expect([answer.status, seen.at(-1)?.cookie]).toEqual([200, 'a=1; b=2'])
    await server.api('/site/home')
    expect(JSON.stringify(seen)).not.toContain('svc_admin')
    expect(answer.headers.getSetCookie()).toEqual(['theirs=1'])
    for (const name of ['service-worker-allowed', 'clear-site-data'])
      expect(answer.headers.has(name)).toBe(false)
  })

  test.each(['text/html', 'image/svg+xml', 'application/xhtml+xml', 'text/xml', 'application/pdf'])(
    'attack 40: what it sends as %s is no document of the operator’s origin',
    async (type) => {
      const answer = await server.request(`/site/page?type=${encodeURIComponent(type)}`)
      expect(answer.headers.get('content-security-policy')).toBe("default-src 'self', sandbox")
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    },
  )

  test('attack 40: no script of its own becomes a service worker', async () => {
    const headers = { 'service-worker': 'script' }
    const answer = await server.request('/site/sw.js?type=text/javascript', { headers })
    expect(answer.status).toBe(403)
  })
})

describe('the session', () => {
  test('attack 40: a page that is sandboxed, of another site or another port cannot use it', async () => {
    const foreign: Array<Record<string, string>> = [
      { origin: 'null' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      { origin: 'http://evil.example' },
      { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' },
    ]
    for (const headers of foreign) {
      expect((await server.api('/admin/api/session', undefined, headers)).status).toBe(403)
      expect((await server.api('/setup/api/state', undefined, headers)).status).toBe(403)
      expect((await server.api('/setup/api/save', { values }, headers)).status).toBe(403)
    }
  })

  test('attack 40: alone it changes neither wallet, nor keys, nor the public address', async () => {
    const before = await readFile(join(dataDir, 'config.json'), 'utf8')
    const stolen = { values: { ...values, SVC_WALLET_ADDRESS: THIEF } }
    const attempts = [
      stolen,
      { ...stolen, confirm: true },
      { ...stolen, token: '' },
      { ...stolen, token: 'a guess' },
      { values, secrets: { REFUND_WALLET_PRIVATE_KEY: `0x${'42'.repeat(32)}` } },
      { values, secrets: { SVC_SECRET_KEY: 'a key that the thief knows and is long enough' } },
    ]
    for (const attempt of attempts) {
      const refused = await server.api('/setup/api/save', attempt)
      const told = await refused.json()
      expect([refused.status, told]).toEqual([403, expect.objectContaining({ needsToken: true })])
    }
    expect(await readFile(join(dataDir, 'config.json'), 'utf8')).toBe(before)
    expect(await walletNow()).toBe(OURS)

    const named = await server.api('/setup/api/save', { values: { ...values, AGENT_NAME: 'Ours' } })
    expect(named.status, 'a name is no secret').toBe(200)
    const meant = await server.api('/setup/api/save', { ...stolen, token: ADMIN_TOKEN })
    expect([meant.status, await walletNow()]).toEqual([200, THIEF])
    const script = await server.request('/setup/api/save', {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${ADMIN_TOKEN}` },
      body: JSON.stringify({ values }),
    })
    expect([script.status, await walletNow()], 'a script shows the token anyway').toEqual([200, OURS])
  })
})

test('attack 40: with ADMIN_PORT the public port has no operator’s pages, and the other port nothing else', async () => {
  const [port, adminPort] = [await freePort(), await freePort()]
  const folder = await mkdtemp(join(tmpdir(), 'paystile-attack-'))
  const baseUrl = `http://127.0.0.1:${port}/shop`
  const env = { DATA_DIR: folder, BASE_URL: baseUrl, ADMIN_PORT: String(adminPort), ADMIN_TOKEN }
  const split = await startServer(env, baseUrl)
  try {
    expect(split.output()).toContain(`"url":"http://localhost:${adminPort}/setup"`)
    const paths = ['/setup', '/admin', '/setup/api/state', '/admin/api/session', '/admin/api/login']
    for (const path of paths) {
      const answer = await split.request(path, { headers: { accept: 'text/html' } })
      expect([answer.status, answer.headers.get('location')], path).toEqual([503, null])
    }
    const admin = (path: string, init?: RequestInit) =>
      fetch(`http://127.0.0.1:${adminPort}${path}`, { redirect: 'manual', ...init })
    const opened = await admin('/admin/api/login', {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ token: ADMIN_TOKEN }),
    })
    const { csrf } = (await opened.json()) as { csrf: string }
    const [cookie] = opened.headers.getSetCookie()
    expect(cookie).toContain('; Path=/admin;')
    const saved = await admin('/setup/api/save', {
      method: 'POST',
      headers: { ...json, cookie: cookie!.split(';')[0]!, 'x-csrf-token': csrf },
      body: JSON.stringify({ values: { ...values, BASE_URL: baseUrl } }),
    })
    expect(await saved.json()).toMatchObject({ live: true, url: baseUrl })
    for (const path of paths) expect((await split.request(path)).status, path).toBe(404)
    expect((await split.request('/discover')).status).toBe(200)
    expect((await admin('/discover')).status).toBe(404)
    expect((await admin('/site/page')).status).toBe(404)
    // The commands find the operator's API there.
    const ran = await cli({ ...env, PORT: String(port) }, 'refunds', 'list', '--json')
    expect([ran.errors, ran.code, JSON.parse(ran.output)]).toEqual(['', 0, { via: 'server', items: [] }])
  } finally {
    await split.stop('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
})
