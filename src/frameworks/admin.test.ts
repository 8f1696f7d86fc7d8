import { once } from 'node:events'
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express5 from 'express'
import createFastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createGateway, type Gateway } from '../gateway.ts'
import * as inExpress from './express.ts'
import * as inFastify from './fastify.ts'
import * as inHono from './hono.ts'

const express4: typeof express5 = createRequire(import.meta.url)('express4')
const TOKEN = 'the-token-of-the-operator'
const HOST = '127.0.0.1'

type Start = (gateway: Gateway) => Promise<{ origin: string; close(): Promise<unknown> }>

const originOf = (server: Server) => `http://${HOST}:${(server.address() as AddressInfo).port}`

const startExpress =
  (express: typeof express5): Start =>
  async (gateway) => {
    const app = express()
    app.use(express.json())
    app.use(inExpress.paystile(gateway))
    app.use('/shops/:shop/office', inExpress.paystileAdmin(gateway, { token: TOKEN }))
    app.get('/shops/:shop/office/own', (_req, res) => void res.send('own'))
    app.post('/own', (req, res) => void res.json(req.body))
    const server = app.listen(0, HOST)
    await once(server, 'listening')
    return { origin: originOf(server), close: async () => server.close().closeAllConnections() }
  }

const startHono: Start = async (gateway) => {
  const app = new Hono()
  app.use(inHono.paystile(gateway))
  app.use('/shops/:shop/office/*', inHono.paystileAdmin(gateway, { token: TOKEN }))
  app.get('/shops/:shop/office/own', (c) => c.text('own'))
  app.post('/own', async (c) => c.json(await c.req.json()))
  const server = serve({ fetch: app.fetch, port: 0, hostname: HOST, overrideGlobalObjects: false }) as Server
  await once(server, 'listening')
  return { origin: originOf(server), close: async () => server.close().closeAllConnections() }
}

const startFastify: Start = async (gateway) => {
  const app = createFastify({ forceCloseConnections: true })
  await app.register(inFastify.paystile, { gateway })
  await app.register(inFastify.paystileAdmin(gateway, { token: TOKEN }), { prefix: '/shops/:shop/office' })
  app.get('/shops/:shop/office/own', async () => 'own')
  app.post('/own', async (request) => request.body)
  return { origin: await app.listen({ port: 0, host: HOST }), close: () => app.close() }
}

describe.each<[string, Start]>([
  ['Express 5', startExpress(express5)],
  ['Express 4', startExpress(express4)],
  ['Hono', startHono],
  ['Fastify', startFastify],
])('the dashboard in %s', (_name, start) => {
  let gateway: Gateway
  let app: Awaited<ReturnType<Start>>
  let office: string
  const alerts: string[] = []
  beforeAll(async () => {
    gateway = await createGateway({
      walletAddress: '0x8ba1f109551bD432803012645Ac136ddd64DBA72',
      plans: [{ planId: 'basic', unitAmount: '$1.00' }],
      tokenSecret: 'a shared secret of more than thirty-two bytes',
      baseUrl: 'https://shop.example',
      rpcUrl: 'http://127.0.0.1:9',
      store: 'memory',
      agentName: 'Corner shop',
      onAlert: (kind) => void alerts.push(kind),
    })
    app = await start(gateway)
    office = `${app.origin}/shops/acme/office`
  })
  afterAll(async () => {
    await app?.close()
    await gateway?.close()
  })

  const send = (path: string, init: RequestInit = {}) => fetch(office + path, { redirect: 'manual', ...init })
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    send(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const json = async (response: Response) => (await response.json()) as Record<string, unknown>

  test('alerts of the gateway are shown, also those from before the first visit', async () => {
    const headers = { authorization: `Bearer ${TOKEN}` }
    const told = await vi.waitUntil(() => alerts[0], { timeout: 20_000 })
    const { alerts: shown } = await json(await send('/api/overview', { headers }))
    expect(shown).toContainEqual(expect.objectContaining({ kind: told }))
  }, 30_000)

  test('the page and its files are below the mount, with a strict policy', async () => {
    const moved = await send('?range=7d')
    expect([moved.status, moved.headers.get('location')]).toEqual([308, './office/?range=7d'])
    const page = await send('/')
    expect(page.status, 'it shows the login').toBe(401)
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/)
    const script = /src="\.(\/assets\/admin-[^"]+\.js)"/.exec(await page.text())?.[1]
    const file = await send(script!)
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
    expect(file.headers.get('cache-control')).toContain('immutable')
  })

  test('the login gives a cookie for the mount alone, and changes need its CSRF token', async () => {
    expect((await send('/api/overview')).status).toBe(401)
    expect((await post('/api/login', { token: 'a wrong one' })).status).toBe(401)
    const login = await post('/api/login', { token: TOKEN }, { origin: 'https://shop.example', host: 'x' })
    expect(login.status, 'a page of another origin').toBe(403)
    const right = await post('/api/login', { token: TOKEN }, { origin: app.origin })
    expect(right.status).toBe(200)
    const cookies = right.headers.getSetCookie()
    expect(cookies).toEqual([
      expect.stringMatching(
        /^svc_admin=\S+; Path=\/shops\/acme\/office; Max-Age=\d+; HttpOnly; SameSite=Strict$/,
      ),
    ])
    const { csrf } = await json(right)
    const cookie = cookies[0]!.split(';')[0]!
    const session = await json(await send('/api/session', { headers: { cookie } }))
    expect(session).toMatchObject({ loggedIn: true, configured: true, agentName: 'Corner shop' })
    expect((await send('/', { headers: { cookie } })).status).toBe(200)
    expect((await post('/api/alerts/clear', {}, { cookie })).status).toBe(403)
    const cleared = await post('/api/alerts/clear', {}, { cookie, 'x-csrf-token': String(csrf) })
    expect(await json(cleared)).toEqual({ alerts: [] })
    const foreign = await post('/api/alerts/clear', {}, { cookie, 'sec-fetch-site': 'cross-site' })
    expect(foreign.status).toBe(403)
  })

  test('a script uses the token as bearer, and an agent the tools', async () => {
    const authorization = `Bearer ${TOKEN}`
    const overview = await json(await send('/api/overview?range=24h', { headers: { authorization } }))
    expect(overview).toMatchObject({ range: '24h', network: 'eip155:84532', testnet: true })
    const asked = await post(
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
      { authorization, accept: 'application/json, text/event-stream' },
    )
    const text = await asked.text()
    expect(asked.status, text).toBe(200)
    expect(text).toContain('"list_sales"')
    expect(text, 'an embedded gateway has no settings that could be examined').not.toContain('"doctor"')
    expect(text).not.toContain('"retry_refund"')
  })

  test('everything else stays with the seller and the gateway', async () => {
    expect(await (await send('/own')).text()).toBe('own')
    expect((await send('/setup')).status).toBe(404)
    expect((await send('/api')).status).toBe(404)
    const echoed = await fetch(`${app.origin}/own`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    })
    expect(await echoed.json()).toEqual({ a: 1 })
    const { agentName } = await json(await fetch(`${app.origin}/discover`))
    expect(agentName).toBe('Corner shop')
  })

  test('changes are streamed', async () => {
    const headers = { authorization: `Bearer ${TOKEN}` }
    const stream = await send('/api/events', { headers })
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    const reader = stream.body!.getReader()
    const { value } = await reader.read()
    expect(new TextDecoder().decode(value)).toContain('retry: 500')
    await reader.cancel()
  })

  test('too many wrong tokens of one address are refused for a while', async () => {
    const tries = []
    for (let n = 0; n < 12; n++) tries.push((await post('/api/login', { token: 'guess' })).status)
    expect(tries.at(-1)).toBe(429)
  })
})

test('a misspelt option is refused at once, so that no agent is left with fewer rights than it was given', () => {
  const gateway = { backstage: {} } as Gateway
  const misspelt = { token: TOKEN, mcpWrite: true } as { token: string }
  const words = 'paystileAdmin: mcpWrite is not an option; did you mean "mcpWrites"?'
  for (const { paystileAdmin } of [inExpress, inHono, inFastify])
    expect(() => paystileAdmin(gateway, misspelt)).toThrow(words)
  const options = { token: TOKEN, mcpWrites: true, trustProxy: 1 }
  expect(() => inHono.paystileAdmin(gateway, options)).not.toThrow()
  expect(() => inExpress.paystileAdmin(gateway, options)).toThrow('trustProxy is not an option')
})

test('a token that is missing or short is refused at once', () => {
  const gateway = { backstage: {} } as Gateway
  expect(() => inExpress.paystileAdmin(gateway, { token: undefined })).toThrow('token is missing')
  expect(() => inHono.paystileAdmin(gateway, { token: 'short' })).toThrow('token has 5 characters')
  expect(() => inFastify.paystileAdmin(gateway, { token: '' })).toThrow('token is missing')
})
