import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import express from 'express'
import createFastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as onExpress from '../../src/frameworks/express.ts'
import * as onFastify from '../../src/frameworks/fastify.ts'
import * as onHono from '../../src/frameworks/hono.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { freePort } from './world.ts'

const CHROME = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

let shop: RoutesWorld
let embedded: Gateway
beforeAll(async () => {
  const weather = { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' } as const
  const computed = { routeId: 'computed', method: 'GET', path: '/computed', maxAmount: '$1.00' } as const
  shop = await startRoutesWorld({
    options: { routes: [weather, { ...computed, unitAmount: () => '$0.07' }] },
  })
  embedded = await createGateway({
    walletAddress: `0x${'11'.repeat(20)}`,
    // Nothing is bought of this one, so no chain has to answer.
    rpcUrl: `http://127.0.0.1:${await freePort()}`,
    routes: [weather],
    baseUrl: 'http://localhost/gateway',
    store: 'memory',
  })
})
afterAll(async () => {
  await shop?.stop()
  await embedded?.close()
})

/** As a browser asks; the Fetch standard would not let a script say so. */
const navigate = (url: string) =>
  new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>((done, failed) => {
    get(url, { headers: { accept: CHROME, 'sec-fetch-mode': 'navigate' } }, async (response) => {
      let body = ''
      for await (const chunk of response.setEncoding('utf8')) body += chunk
      done({ status: response.statusCode!, headers: response.headers, body })
    }).on('error', failed)
  })

/** The text to copy under a heading of the shop window, as a browser shows it. */
function textUnder(page: string, title: string): string {
  const escaped = page.split(`<h3>${title}</h3>`)[1]!.split('<pre tabindex="0">')[1]!.split('</pre>')[0]!
  const characters: Record<string, string> = {
    '&lt;': '<',
    '&gt;': '>',
    '&quot;': '"',
    '&#39;': "'",
    '&amp;': '&',
  }
  return escaped.replace(/&(lt|gt|quot|#39|amp);/g, (entity) => characters[entity]!)
}

test('the twelve lines of the shop window buy a call as they stand', async () => {
  const { world } = shop
  const { body, status } = await navigate(`${world.baseUrl}/`)
  expect(status).toBe(200)
  const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
  const folder = await mkdtemp(join(tmpdir(), 'paystile-lines-'))
  try {
    await symlink(resolve('node_modules'), join(folder, 'node_modules'))
    await writeFile(join(folder, 'buy.mjs'), textUnder(body, 'In code').replace('YOUR_CITY', 'lima'))
    const env = { ...process.env, BUYER_PRIVATE_KEY: buyer.privateKey }
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'buy.mjs')], { env })
    expect(stdout).toMatch(/^200 .*"sky":"clear"/)
  } finally {
    await rm(folder, { recursive: true })
  }
  expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
})

test('a paid route is a page to a browser, with the headers of the JSON, also where its price is computed', async () => {
  for (const [path, price] of [
    ['/weather/lima', '$0.01'],
    ['/computed', '$0.07'],
  ]) {
    const shown = await navigate(shop.world.baseUrl + path)
    expect([shown.status, shown.headers['content-type']]).toEqual([402, 'text/html; charset=utf-8'])
    expect(shown.body).toContain(price)
    const plain = await fetch(shop.world.baseUrl + path)
    const names = (headers: Iterable<string>) =>
      [...headers].filter((name) => !/^(content-length|date)$/.test(name))
    const pageOnly =
      /^(content-security-policy|x-frame-options|x-content-type-options|referrer-policy|cross-origin-opener-policy)$/
    expect(
      names(Object.keys(shown.headers))
        .filter((name) => !pageOnly.test(name))
        .sort(),
    ).toEqual(names(plain.headers.keys()).sort())
    expect(await plain.json()).toMatchObject({ x402Version: 2 })
  }
})

test('a shared host keeps its root: the gateway answers there nothing that was not mounted', async () => {
  for (const path of ['/', '/gateway', '/gateway/'])
    expect(
      await embedded.handle(new Request(`http://localhost${path}`, { headers: { accept: CHROME } })),
    ).toBeUndefined()
})

test.each<[string, (port: number) => Promise<() => unknown>]>([
  [
    'Express',
    async (port) => {
      const app = express()
      app.get('/shop', onExpress.shopWindow(embedded))
      app.get(
        '/weather/:city',
        onExpress.payPerRequest(embedded, 'weather'),
        (_req, res) => void res.send('x'),
      )
      const server = await new Promise<Server>((done) => {
        const listening: Server = app.listen(port, () => done(listening))
      })
      return () => server.close()
    },
  ],
  [
    'Fastify',
    async (port) => {
      const app = createFastify()
      await app.register(onFastify.paystile, { gateway: embedded, prefix: '/gateway' })
      app.get('/shop', { onRequest: onFastify.shopWindow(embedded) }, (_request, reply) =>
        reply.callNotFound(),
      )
      app.get('/weather/:city', { preHandler: app.payPerRequest('weather') }, async () => 'x')
      await app.listen({ port, host: '127.0.0.1' })
      return () => app.close()
    },
  ],
])('%s shows the window where it is mounted, and the page of a paid route', async (_name, start) => {
  const port = await freePort()
  const stop = await start(port)
  try {
    const window = await navigate(`http://127.0.0.1:${port}/shop`)
    expect([window.status, window.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(window.body).toContain('/weather/:city')
    const shown = await navigate(`http://127.0.0.1:${port}/weather/lima`)
    expect([shown.status, shown.headers['content-type']]).toEqual([402, 'text/html; charset=utf-8'])
    expect(shown.headers['payment-required']).toBeDefined()
    expect(shown.body).toContain('$0.01')
  } finally {
    await stop()
  }
})

test('Hono shows the window where it is mounted, and the page of a paid route', async () => {
  const app = new Hono()
  app.get('/shop', onHono.shopWindow(embedded))
  app.get('/weather/:city', onHono.payPerRequest(embedded, 'weather'), (c) => c.text('x'))
  const headers = { accept: CHROME }
  const window = await app.request('/shop', { headers })
  expect(await window.text()).toContain('/weather/:city')
  const shown = await app.request('/weather/lima', { headers })
  expect([shown.status, shown.headers.get('content-type')]).toEqual([402, 'text/html; charset=utf-8'])
})

test('switched off, nothing is mounted', async () => {
  const off = await createGateway({
    walletAddress: `0x${'11'.repeat(20)}`,
    rpcUrl: `http://127.0.0.1:${await freePort()}`,
    routes: [{ routeId: 'r', method: 'GET', path: '/r', unitAmount: '$0.01' }],
    store: 'memory',
    shopWindow: false,
  })
  try {
    const headers = { accept: CHROME }
    expect(off.shopWindow(new Request('http://localhost/', { headers }))).toBeUndefined()
    expect((await off.fetch(new Request('http://localhost:3000/', { headers }))).status).toBe(404)
  } finally {
    await off.close()
  }
})
