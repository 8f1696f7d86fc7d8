import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import createFastify from 'fastify'
import { type Context, Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import type { Charged } from '../transports/http/charge-route.ts'
import type { EmbeddedGateway } from './embedding.ts'
import * as onExpress from './express.ts'
import { paystile as onFastify } from './fastify.ts'
import * as onHono from './hono.ts'

const RECEIPT = { 'payment-response': 'receipt', 'cache-control': 'no-store, private' }

/** A gateway that takes every call for paid, and notes how it ended. */
function paidGateway({ lost = 0 }: { lost?: number } = {}) {
  const finished: number[] = []
  let failuresLeft = lost
  const seen: Array<{ url: string; address: string | undefined; body?: string }> = []
  const gateway: EmbeddedGateway = {
    discovery: {
      agentName: '',
      description: '',
      walletAddress: '0x',
      network: 'eip155:84532',
      chainId: 84532,
      asset: '0x',
      plans: [],
      routes: [{ routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' }],
    },
    verifyAccess: async () => Promise.reject(new Error('not asked here')),
    async handle(request, peer) {
      if (new URL(request.url).pathname !== '/pay/access') return undefined
      const body = await request.text().catch(() => 'lost')
      seen.push({ url: request.url, address: peer?.address, body })
      return Response.json({ body })
    },
    async chargeRoute(request, _routeId, peer): Promise<Charged> {
      seen.push({ url: request.url, address: peer?.address })
      return {
        kind: 'paid',
        payment: {
          txHash: '0x1',
          explorerUrl: '',
          payer: '0x2',
          amount: '1',
          network: '',
          challengeId: 'c',
          requestId: 'r',
        },
        headers: RECEIPT,
        headersFor: (status) => (status === 200 ? RECEIPT : { ...RECEIPT, 'x-svc-refund': 'SCHEDULED' }),
        async finish(status) {
          if (status === 200 && failuresLeft-- > 0) throw new Error('the store is away')
          finished.push(status)
        },
      }
    },
  }
  return { gateway, finished, seen }
}

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function addressOf(server: Server): Promise<string> {
  if (!server.listening) await once(server, 'listening')
  cleanups.push(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const serveExpress = (app: express.Express) => addressOf(app.listen(0, '127.0.0.1'))
const serveHono = (app: Hono) =>
  addressOf(
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false }) as Server,
  )

async function fastifyWith(gateway: EmbeddedGateway) {
  const app = createFastify()
  cleanups.push(() => app.close())
  await app.register(onFastify, { gateway, prefix: '/pay' })
  return app
}

const until = (look: () => boolean) => expect.poll(look, { timeout: 60_000, interval: 10 }).toBe(true)

test.each([
  ['Express', () => onExpress.payPerRequest(paidGateway().gateway, 'wether')],
  ['Hono', () => onHono.payPerRequest(paidGateway().gateway, 'wether')],
  ['Fastify', async () => (await fastifyWith(paidGateway().gateway)).payPerRequest('wether')],
])('%s refuses to start with a route that is not in the catalog', async (_name, build) => {
  await expect(async () => build()).rejects.toThrow('no route "wether"; it has weather')
})

describe('Express', () => {
  test('an answer that is out is told again until the store has it', async () => {
    const { gateway, finished } = paidGateway({ lost: 2 })
    const app = express().get(
      '/weather',
      onExpress.payPerRequest(gateway, 'weather'),
      (_req, res) => void res.send('sun'),
    )
    expect(await (await fetch(`${await serveExpress(app)}/weather`)).text()).toBe('sun')
    await until(() => finished.length === 1)
    expect(finished).toEqual([200])
  })

  test.each<[string, number, express.RequestHandler]>([
    ['is ended', 404, (_req, res) => void res.status(404).end('none')],
    ['streams', 503, (_req, res) => void res.status(503).write('in', () => res.end(' pieces'))],
    ['is written by writeHead', 302, (_req, res) => void res.writeHead(302, { location: '/x' }).end()],
    [
      'is written by writeHead with a list',
      400,
      (_req, res) => void res.writeHead(400, ['x-own', '1']).end(),
    ],
    ['is Express’s own error page', 500, (_req, _res, next) => next(new Error('a bug'))],
    ['is nobody’s', 404, (_req, _res, next) => next()],
  ])('an answer that is no delivery says so, also where it %s', async (_how, status, handler) => {
    const { gateway, finished } = paidGateway()
    const app = express().set('env', 'test')
    app.get('/weather', onExpress.payPerRequest(gateway, 'weather'), handler)
    const answer = await fetch(`${await serveExpress(app)}/weather`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('x-svc-refund')]).toEqual([status, 'SCHEDULED'])
    expect(answer.headers.get('payment-response')).toBe('receipt')
    await until(() => finished.length === 1)
    expect(finished).toEqual([status])
  })

  test('a good answer is left as it is, but that no cache may keep it', async () => {
    const { gateway } = paidGateway()
    const app = express().get('/weather', onExpress.payPerRequest(gateway, 'weather'), (_req, res) => {
      res.set({ 'cache-control': 'public, max-age=60', 'x-own': '1' }).send('sun')
    })
    const { headers } = await fetch(`${await serveExpress(app)}/weather`)
    expect([headers.get('cache-control'), headers.get('x-own')]).toEqual(['no-store, private', '1'])
    expect(headers.get('x-svc-refund')).toBe(null)
  })

  test('a response that its handler destroys before the head is no delivery', async () => {
    const { gateway, finished } = paidGateway()
    const app = express().get(
      '/weather',
      onExpress.payPerRequest(gateway, 'weather'),
      (_req, res) => void res.destroy(),
    )
    await expect(fetch(`${await serveExpress(app)}/weather`)).rejects.toThrow()
    await new Promise((turn) => setTimeout(turn, 600))
    expect(finished).toEqual([])
  })

  test('a body that other code has read and not kept is lost, and the gateway hears of it', async () => {
    const { gateway } = paidGateway()
    const app = express()
    app.use((req, _res, next) => void req.resume().once('end', next))
    app.use('/pay', onExpress.paystile(gateway))
    const answer = await fetch(`${await serveExpress(app)}/pay/access`, { method: 'POST', body: 'text' })
    expect(await answer.json()).toEqual({ body: 'lost' })
  })

  test.each([
    ['raw bytes', express.raw({ type: '*/*' }), 'text/x', 'a,b', 'a,b'],
    ['text', express.text({ type: '*/*' }), 'text/x', 'a,b', 'a,b'],
    ['JSON', express.json(), 'application/json', '{ "a": 1 }', '{"a":1}'],
    ['nothing, for its type is not the parser’s', express.json(), 'text/x', 'a,b', 'a,b'],
  ])('the gateway reads what a parser made of the body: %s', async (_name, parser, type, body, got) => {
    const { gateway } = paidGateway()
    const url = await serveExpress(express().use(parser).use(onExpress.paystile(gateway)))
    const answer = await fetch(`${url}/pay/access`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    })
    expect(await answer.json()).toEqual({ body: got })
  })

  test('the peer is who Express takes it for', async () => {
    const { gateway, seen } = paidGateway()
    const app = express().set('trust proxy', 1)
    app.use(
      '/deep',
      express
        .Router()
        .get('/weather', onExpress.payPerRequest(gateway, 'weather'), (_req, res) => void res.end()),
    )
    await fetch(`${await serveExpress(app)}/deep/weather?q=1`, {
      headers: { 'x-forwarded-for': '203.0.113.9' },
    })
    expect(seen).toMatchObject([
      { url: expect.stringMatching(/\/deep\/weather\?q=1$/), address: '203.0.113.9' },
    ])
  })
})

describe('Hono', () => {
  test('an answer whose delivery cannot be recorded does not go out', async () => {
    const { gateway, finished } = paidGateway({ lost: 1 })
    const app = new Hono().get('/weather', onHono.payPerRequest(gateway, 'weather'), (c) => c.text('sun'))
    app.onError((error, c) => c.text(error.message, 503))
    const answer = await app.request('/weather')
    expect([answer.status, await answer.text()]).toEqual([503, 'the store is away'])
    expect(finished).toEqual([])
  })

  test.each([
    ['an answer of its own', (c: Context) => c.text('none', 404), 404],
    ['a redirect', (c: Context) => c.redirect('/x'), 302],
    ['an exception', () => Promise.reject(new Error('a bug')), 500],
  ] as const)('%s that is no delivery says so', async (_how, handler, status) => {
    const { gateway, finished } = paidGateway()
    const app = new Hono().get('/weather', onHono.payPerRequest(gateway, 'weather'), handler as never)
    app.onError((error, c) => c.text(error.message, 500))
    const answer = await app.request('/weather')
    expect([answer.status, answer.headers.get('x-svc-refund')]).toEqual([status, 'SCHEDULED'])
    expect(answer.headers.get('payment-response')).toBe('receipt')
    expect(finished).toEqual([status])
  })

  test('something thrown that is no Error is no delivery', async () => {
    const { gateway, finished } = paidGateway()
    const app = new Hono().get('/weather', onHono.payPerRequest(gateway, 'weather'), () => {
      throw 'a string'
    })
    await expect(async () => app.request('/weather')).rejects.toBe('a string')
    expect(finished).toEqual([500])
  })

  test('the receipt is added to a response that cannot be changed, such as one from fetch', async () => {
    const { gateway } = paidGateway()
    const upstream = await serveHono(new Hono().get('/', (c) => c.text('far away')))
    const app = new Hono().get('/weather', onHono.payPerRequest(gateway, 'weather'), () => fetch(upstream))
    const answer = await app.request('/weather')
    expect(answer.headers.get('payment-response')).toBe('receipt')
    expect(await answer.text()).toBe('far away')
  })

  test('the peer is the connection, or whom a trusted proxy names', async () => {
    const { gateway, seen } = paidGateway()
    const app = new Hono()
    app.get('/direct', onHono.payPerRequest(gateway, 'weather'), (c) => c.text(''))
    app.get('/proxied', onHono.payPerRequest(gateway, 'weather', { trustProxy: 1 }), (c) => c.text(''))
    const url = await serveHono(app)
    for (const path of ['/direct', '/proxied']) {
      await fetch(url + path, { headers: { 'x-forwarded-for': '203.0.113.9' } })
    }
    expect(seen.map(({ address }) => address)).toEqual(['127.0.0.1', '203.0.113.9'])
  })
})

describe('Fastify', () => {
  test.each([200, 404])('a Response object of status %i is judged by its own status', async (status) => {
    const { gateway, finished } = paidGateway()
    const app = await fastifyWith(gateway)
    app.get(
      '/weather',
      { preHandler: app.payPerRequest('weather') },
      async () => new Response('x', { status }),
    )
    const answer = await app.inject('/weather')
    expect([answer.statusCode, answer.headers['payment-response']]).toEqual([status, 'receipt'])
    expect(answer.headers['x-svc-refund']).toBe(status === 200 ? undefined : 'SCHEDULED')
    expect(finished).toEqual([status])
  })

  test('a handler that hijacks the reply is judged by what it sent', async () => {
    const { gateway, finished } = paidGateway()
    const app = await fastifyWith(gateway)
    app.get('/weather', { preHandler: app.payPerRequest('weather') }, async (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200).end('raw')
    })
    expect((await app.inject('/weather')).body).toBe('raw')
    await until(() => finished.length === 1)
    expect(finished).toEqual([200])
  })

  test('a schema refuses bad input before anything is charged', async () => {
    const { gateway, seen } = paidGateway()
    const app = await fastifyWith(gateway)
    const schema = { querystring: { type: 'object', required: ['day'] } }
    app.get('/weather', { schema, preHandler: app.payPerRequest('weather') }, async () => 'sun')
    expect((await app.inject('/weather')).statusCode).toBe(400)
    expect(seen).toEqual([])
  })

  test('the gateway gets bodies of any type or none; the seller’s parsers and 404 stay as they are', async () => {
    const { gateway } = paidGateway()
    const app = await fastifyWith(gateway)
    app.post('/own', async (request) => ({ got: request.body }))
    app.setNotFoundHandler((_request, reply) => reply.code(404).send('the seller’s own'))
    const post = (url: string, type: string, payload: string) =>
      app.inject({ method: 'POST', url, headers: { 'content-type': type }, payload })
    expect((await post('/pay/access', 'application/json', '{ "broken')).json()).toEqual({ body: '{ "broken' })
    expect((await post('/pay/access', 'image/png', 'x')).json()).toEqual({ body: 'x' })
    expect((await app.inject({ method: 'DELETE', url: '/pay/access' })).json()).toEqual({ body: '' })
    expect((await post('/own', 'application/json', '{"a":1}')).json()).toEqual({ got: { a: 1 } })
    expect((await post('/own', 'image/png', 'x')).statusCode).toBe(415)
    for (const url of ['/pay/absent', '/absent'])
      expect((await app.inject(url)).body).toBe('the seller’s own')
  })

  test('HTTP/2 works too', async () => {
    const { gateway, finished, seen } = paidGateway()
    const app = createFastify({ http2: true })
    cleanups.push(() => app.close())
    await app.register(onFastify, { gateway })
    app.get('/weather', { preHandler: app.payPerRequest('weather') }, async () => 'sun')
    const client = connectHttp2(await app.listen({ port: 0, host: '127.0.0.1' }))
    cleanups.push(() => client.destroy())
    const stream = client.request({ ':path': '/weather?q=1' })
    const [headers] = await once(stream, 'response')
    expect([headers[':status'], headers['payment-response']]).toEqual([200, 'receipt'])
    expect(finished).toEqual([200])
    expect(seen[0]?.url).toMatch(/\/weather\?q=1$/)
  })

  test.each([{}, { 'content-length': '16' }])('a body over HTTP/2, with %j', async (more) => {
    const app = createFastify({ http2: true })
    cleanups.push(() => app.close())
    await app.register(onFastify, { gateway: paidGateway().gateway, prefix: '/pay' })
    const client = connectHttp2(await app.listen({ port: 0, host: '127.0.0.1' }))
    cleanups.push(() => client.destroy())
    const head = { ':path': '/pay/access', ':method': 'POST', 'content-type': 'application/json', ...more }
    const stream = client.request(head).setEncoding('utf8')
    stream.end('{"planId":"pro"}')
    expect(JSON.parse((await stream.toArray()).join(''))).toEqual({ body: '{"planId":"pro"}' })
    const empty = client.request({ ':path': '/pay/access', ':method': 'POST' }).setEncoding('utf8')
    empty.end()
    expect(JSON.parse((await empty.toArray()).join(''))).toEqual({ body: '' })
  })
})

test('a request that no Fetch can express is refused before it is charged, and passed on by the mount', async () => {
  const { gateway, seen } = paidGateway()
  const app = express().use(onExpress.paystile(gateway))
  app.use(onExpress.payPerRequest(gateway, 'weather'), (_req, res) => void res.send('sun'))
  const { port } = new URL(await serveExpress(app))
  const socket = connect(Number(port), '127.0.0.1').setEncoding('utf8')
  socket.write('GET nowhere: HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  const answer = (await socket.toArray()).join('')
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(seen).toEqual([])
})
