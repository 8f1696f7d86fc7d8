import { beforeEach, describe, expect, test } from 'vitest'
import { createOperatorHandler, createOperatorPort } from './operator-handler.ts'
import { createServerHandler, type ServerParts } from './server-handler.ts'

let phase: ReturnType<ServerParts['phase']>
/** The phase after `untilStarted`. */
let next: typeof phase | undefined
let loggedIn: boolean
let basePath: string
let hasShopWindow: boolean
beforeEach(() => {
  phase = 'live'
  next = undefined
  loggedIn = false
  basePath = ''
  hasShopWindow = false
})

const operator = createOperatorHandler({
  basePath: () => basePath,
  phase: () => phase,
  auth: {
    answer: async () => undefined,
    refuse: () => (loggedIn ? undefined : new Response('', { status: 401 })),
    sessionOf: () => (loggedIn ? { id: 'i', csrf: 'c', expiresAt: 0 } : undefined),
    refuseToken: () => undefined,
  },
  setupApi: async (_request, path) => (path === '/setup/api/state' ? new Response('state') : undefined),
  adminApi: () => (phase === 'live' ? async () => new Response('admin') : undefined),
  pages: (_request, path) => (/^\/(setup|admin)$/.test(path) ? new Response(`page ${path}`) : undefined),
})
const parts: ServerParts = {
  basePath: () => basePath,
  phase: () => phase,
  async untilStarted() {
    phase = next ?? phase
  },
  operator,
  hasShopWindow: () => hasShopWindow,
  metrics: async () => new Response('metrics'),
  gateway: async () => new Response('gateway'),
  health: () => ({ status: 'ok' }),
}
const together = createServerHandler(parts)
const publicPort = createServerHandler({ ...parts, operator: undefined })
const ownPort = createOperatorPort(operator, parts.health)

async function get(path: string, accept = 'text/html', method = 'GET', handle = together) {
  const response = await handle(new Request(`http://localhost${path}`, { method, headers: { accept } }))
  return `${response.status} ${response.headers.get('location') ?? (await response.text())}`
}

describe('who answers what', () => {
  test('before it is configured, the setup page shows its login and every other page redirects to it', async () => {
    phase = 'setup'
    expect(await get('/setup')).toBe('200 page /setup')
    expect(await get('/admin')).toBe('302 /setup')
    expect(await get('/')).toBe('302 /setup')
    expect(await get('/anything?x')).toBe('302 /setup')
    expect(await get('/', '*/*'), 'a program that opens the address').toBe('302 /setup')
    expect(await get('/health')).toBe('200 {"status":"ok"}')
    expect(await get('/ready', '*/*')).toMatch(/^503 .*not configured/)
    expect(await get('/ready'), 'a probe that reads HTML').toMatch(/^503 .*not configured/)
    expect(await get('/x402/access', 'text/html', 'POST')).toMatch(/^503 .*"code":"SETTLEMENT_PENDING"/)
    expect(await get('/setup/api/state')).toBe('401 ')
    loggedIn = true
    expect(await get('/setup/api/state')).toBe('200 state')
    expect(await get('/admin/api/overview')).toMatch(/^503 /)
  })

  test('while it starts, no request is redirected to setup', async () => {
    phase = 'starting'
    expect(await get('/')).toMatch(/^503 .*is starting/)
    expect(await get('/health')).toMatch(/^200 /)
    expect(await get('/setup')).toBe('401 page /setup')
    next = 'live'
    expect(await get('/ready', '*/*'), 'a probe does not wait').toMatch(/^503 /)
    expect(await get('/x402/access', '*/*', 'POST'), 'a buyer does').toBe('200 gateway')
  })

  test('a payment that is sent again before it is live is never told that nothing was charged', async () => {
    const send = async (headers: Record<string, string>) => {
      const url = 'http://localhost/x402/access'
      const answer = await together(new Request(url, { method: 'POST', headers }))
      const body = (await answer.json()) as Record<string, string>
      const { code, message: text = body.detail } = body
      return { status: answer.status, type: answer.headers.get('content-type'), code, text }
    }
    const pending = {
      status: 503,
      code: 'SETTLEMENT_PENDING',
      text: expect.stringMatching(/charged once\.$/),
    }
    const json = { ...pending, type: 'application/json' }
    const problem = { ...pending, type: 'application/problem+json' }
    for (phase of ['starting', 'setup'] as const) {
      expect(await send({}), 'over MCP and A2A the payment is in the body').toEqual(json)
      expect(await send({ 'payment-signature': 'x' })).toEqual(json)
      expect(await send({ authorization: 'Payment x' })).toEqual(problem)
      expect(await send({ 'payment-authorization': 'Payment x' })).toEqual(problem)
    }
  })

  test('attack 36: once live, the pages are 401 without a login, and show the login', async () => {
    expect(await get('/setup')).toBe('401 page /setup')
    expect(await get('/admin')).toBe('401 page /admin')
    expect(await get('/setup/api/state')).toBe('401 ')
    expect(await get('/admin/api/overview')).toBe('401 ')
    loggedIn = true
    expect(await get('/setup')).toBe('200 page /setup')
    expect(await get('/admin')).toBe('200 page /admin')
    expect(await get('/setup/api/state')).toBe('200 state')
    expect(await get('/admin/api/overview')).toBe('200 admin')
    expect(await get('/setup/api/other')).toMatch(/^404 /)
  })

  test('everything else is the gateway’s', async () => {
    for (const path of [
      '/discover',
      '/health',
      '/x402/access',
      '/setups',
      '/administer',
      '/admin.json',
      '/metricsx',
    ]) {
      expect(await get(path)).toBe('200 gateway')
    }
    expect(await get('/')).toBe('302 /admin')
    expect(await get('/', '*/*')).toBe('200 gateway')
    hasShopWindow = true
    expect(await get('/'), 'people see what is sold').toBe('200 gateway')
    expect(await get('/metrics')).toBe('200 metrics')
  })

  test('with a base path, nothing is answered outside of it', async () => {
    basePath = '/pay'
    expect(await get('/pay/setup')).toBe('401 page /setup')
    expect(await get('/pay/')).toBe('302 /pay/admin')
    expect(await get('/pay')).toBe('302 /pay/admin')
    for (const path of ['/setup', '/admin', '/metrics', '/setup/api/state', '/payments']) {
      expect(await get(path)).toBe('200 gateway')
    }
  })

  test('with a port of their own, the pages are on that port only', async () => {
    for (phase of ['setup', 'live'] as const) {
      for (const path of ['/setup', '/admin', '/setup/api/state', '/admin/api/overview', '/']) {
        expect(await get(path, 'text/html', 'GET', publicPort), path).toMatch(
          phase === 'live' ? /^200 gateway$/ : /^503 /,
        )
      }
    }
    expect(await get('/metrics', '*/*', 'GET', publicPort)).toBe('200 metrics')
    const own = (path: string) => get(path, 'text/html', 'GET', ownPort)
    expect(await own('/')).toBe('302 /admin')
    expect(await own('/admin')).toBe('401 page /admin')
    expect(await own('/setup/api/state')).toBe('401 ')
    expect(await own('/health')).toBe('200 {"status":"ok"}')
    expect(await own('/discover')).toMatch(/^404 /)
    expect(await own('/metrics')).toMatch(/^404 /)
    loggedIn = true
    expect(await own('/admin')).toBe('200 page /admin')
    expect(await own('/admin/api/overview')).toBe('200 admin')
    phase = 'setup'
    expect(await own('/admin')).toBe('302 /setup')
  })
})
