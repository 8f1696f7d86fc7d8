import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { serve } from '@hono/node-server'
import express from 'express'
import createFastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import { testPorts } from '../../test/engine/test-core.ts'
import { PAYER } from '../../test/engine/test-rows.ts'
import { sampleDialects } from '../../test/transports/sample-x402.ts'
import { createEngine } from '../engine/engine.ts'
import { accountOf } from '../engine/ownership/lots.ts'
import { GatewayError } from '../errors.ts'
import type { Store } from '../ports.ts'
import type { Route } from '../protocol/catalog.ts'
import { buildCatalog } from '../rules/catalog.ts'
import { sampleRow } from '../testing/store-rows.ts'
import { createChargeRoute } from '../transports/http/charge-route.ts'
import { createSpenderReader } from '../transports/http/read-spender.ts'
import type { EmbeddedGateway } from './embedding.ts'
import * as onExpress from './express.ts'
import { paystile as onFastify } from './fastify.ts'
import * as onHono from './hono.ts'

const BASE_URL = 'http://localhost'
const CHUNK = Buffer.alloc(64 * 1024, 'x')
const routes: Route[] = [
  { routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01', credits: 2 },
]
const plans = [{ planId: 'basic', unitAmount: '$1.00', credits: 10 }]

/** The engine itself over the memory store, with one account of ten credits. */
async function gatewayWith(change: (store: Store) => Store = (store) => store) {
  const { ports, config } = testPorts({
    random: { bytes: (length) => randomBytes(length) },
    config: { catalog: buildCatalog(plans, routes) },
  })
  const { clock } = ports
  const row = sampleRow('credits', {
    ...{ key: 'purchase', ref: accountOf(PAYER, 'basic', 'default'), dueAt: clock.now() + 1e9 },
  })
  Object.assign(row, { granted: 10, spent: 0, reserved: [], expiresAt: clock.now() + 1e9 })
  await ports.store.commit({ puts: [{ table: 'credits', row }] })
  const engine = createEngine({ ...ports, store: change(ports.store) }, config)
  const claims = { sub: PAYER, planId: 'basic', resourceId: 'default', jti: 'purchase', exp: 1e12 }
  const readSpender = createSpenderReader(
    async (authorization) =>
      authorization === 'Bearer good'
        ? { ok: true, claims }
        : { ok: false, error: new GatewayError('UNAUTHORIZED', 'not ours') },
    undefined,
    () => clock.now(),
  )
  const discovery = { plans, routes } as unknown as EmbeddedGateway['discovery']
  const counted: string[] = []
  const gateway: EmbeddedGateway = {
    discovery,
    verifyAccess: async () => Promise.reject(new Error('not asked here')),
    handle: async () => undefined,
    chargeRoute: createChargeRoute({
      ...{
        engine,
        dialects: sampleDialects(BASE_URL),
        leaseMs: 60_000,
        baseUrl: BASE_URL,
        discovery,
        routes,
      },
      credits: { ...engine, readSpender },
      rateLimit(address) {
        counted.push(address)
        return { ok: true }
      },
    }),
  }
  const credits = async () => (await ports.store.get('credits', ['purchase']))[0]!
  return { gateway, credits, counted, store: ports.store }
}

/** What the handler behind `payPerRequest` does. */
interface Work {
  answer(): Promise<number>
  streams?: boolean
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

const FRAMEWORKS: Array<[string, (gateway: EmbeddedGateway, work: Work) => Promise<string>]> = [
  [
    'Express',
    async (gateway, work) => {
      const app = express().set('env', 'test')
      app.get('/weather', onExpress.payPerRequest(gateway, 'weather'), async (_req, res) => {
        res.status(await work.answer())
        if (work.streams) Readable.from(chunks()).pipe(res)
        else res.json({ sky: 'clear' })
      })
      return addressOf(app.listen(0, '127.0.0.1'))
    },
  ],
  [
    'Hono',
    async (gateway, work) => {
      const app = new Hono()
      app.onError((error, c) => c.json({ message: error.message }, 503))
      app.get('/weather', onHono.payPerRequest(gateway, 'weather'), async (c) => {
        const status = await work.answer()
        if (!work.streams) return c.json({ sky: 'clear' }, status as 200)
        return new Response(Readable.toWeb(Readable.from(chunks())) as ReadableStream, { status })
      })
      return addressOf(
        serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false }) as Server,
      )
    },
  ],
  [
    'Fastify',
    async (gateway, work) => {
      const app = createFastify()
      cleanups.push(() => app.close())
      await app.register(onFastify, { gateway, prefix: '/pay' })
      app.get('/weather', { preHandler: app.payPerRequest('weather') }, async (_request, reply) => {
        reply.code(await work.answer())
        return reply.send(work.streams ? Readable.from(chunks()) : { sky: 'clear' })
      })
      await app.listen({ port: 0, host: '127.0.0.1' })
      return addressOf(app.server)
    },
  ],
]

const hijackedFastify: (typeof FRAMEWORKS)[number] = [
  'Fastify whose handler hijacks the reply',
  async (gateway, work) => {
    const app = createFastify()
    cleanups.push(() => app.close())
    await app.register(onFastify, { gateway, prefix: '/pay' })
    app.get('/weather', { preHandler: app.payPerRequest('weather') }, async (_request, reply) => {
      const status = await work.answer()
      reply.hijack()
      reply.raw.writeHead(status, { 'content-type': 'application/json' })
      if (work.streams) Readable.from(chunks()).pipe(reply.raw)
      else reply.raw.end('{"sky":"clear"}')
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return addressOf(app.server)
  },
]

function* chunks(): Generator<Buffer> {
  for (let sent = 0; sent < 64; sent++) yield CHUNK
}

const debitOf = ({ status, headers }: Response) => [
  status,
  headers.get('x-svc-credits-charged'),
  headers.get('x-svc-credits-remaining'),
]
const GOOD = { headers: { authorization: 'Bearer good' } }
const ok = async () => 200

describe.each([...FRAMEWORKS, hijackedFastify])('%s', (_name, start) => {
  test('debits a delivery before its first byte, and gives back what fails', async () => {
    const { gateway, credits } = await gatewayWith()
    const work: Work = { answer: ok }
    const url = `${await start(gateway, work)}/weather`
    const first = await fetch(url, GOOD)
    expect(debitOf(first)).toEqual([200, '2', '8'])
    expect(await credits()).toMatchObject({ spent: 2, reserved: [] })
    expect(await first.json()).toEqual({ sky: 'clear' })
    work.answer = async () => 500
    expect(debitOf(await fetch(url, GOOD))).toEqual([500, '0', '8'])
    work.answer = () => Promise.reject(new Error('a bug'))
    expect(debitOf(await fetch(url, GOOD)).slice(1)).toEqual(['0', '8'])
    expect(await credits()).toMatchObject({ spent: 2, reserved: [] })
  })

  test('an answer in pieces comes whole', async () => {
    const { gateway, credits } = await gatewayWith()
    const answer = await fetch(`${await start(gateway, { answer: ok, streams: true })}/weather`, GOOD)
    expect(debitOf(answer)).toEqual([200, '2', '8'])
    expect((await answer.arrayBuffer()).byteLength).toBe(64 * CHUNK.length)
    expect(await credits()).toMatchObject({ spent: 2, reserved: [] })
  })

  test('of ten calls at once on ten credits five are served', async () => {
    const { gateway, credits } = await gatewayWith()
    let runs = 0
    const answer = async () => {
      runs++
      return 200
    }
    const url = `${await start(gateway, { answer })}/weather`
    const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(url, GOOD)))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(5).fill(200), ...Array(5).fill(402)])
    expect([runs, (await credits()).spent]).toEqual([5, 10])
  })

  test('an answer whose credits were given back meanwhile does not go out', async () => {
    const { gateway, credits, store } = await gatewayWith()
    const answer = async () => {
      const row = await credits()
      const reserved = row.reserved.map((held) => ({ ...held, lapsed: true as const }))
      await store.commit({ puts: [{ table: 'credits', row: { ...row, reserved } }] })
      return 200
    }
    const withheld = await fetch(`${await start(gateway, { answer })}/weather`, GOOD)
    expect(withheld.status).toBeGreaterThanOrEqual(500)
    expect(await withheld.text()).not.toContain('clear')
    expect(await credits()).toMatchObject({ spent: 0 })
  })

  test('an answer whose debit cannot be stored does not go out', async () => {
    let away = false
    const { gateway, credits } = await gatewayWith((store) => ({
      ...store,
      commit: (step) => (away ? Promise.reject(new Error('the store is away')) : store.commit(step)),
    }))
    const answer = async () => {
      away = true
      return 200
    }
    const withheld = await fetch(`${await start(gateway, { answer })}/weather`, GOOD)
    expect(withheld.status).toBeGreaterThanOrEqual(500)
    expect(await withheld.text()).not.toContain('clear')
    expect(await credits()).toMatchObject({ spent: 0 })
  })

  test('an Idempotency-Key is debited once; a token that is not ours is refused and counted', async () => {
    const { gateway, credits, counted } = await gatewayWith()
    let runs = 0
    const answer = async () => {
      runs++
      return 200
    }
    const url = `${await start(gateway, { answer })}/weather`
    const named = { headers: { ...GOOD.headers, 'idempotency-key': 'one' } }
    expect((await fetch(url, named)).status).toBe(200)
    const again = await fetch(url, named)
    expect([again.status, again.headers.get('x-svc-code')]).toEqual([409, 'IDEMPOTENCY_CONFLICT'])
    expect(counted).toEqual([])
    const foreign = await fetch(url, { headers: { authorization: 'Bearer other' } })
    expect([foreign.status, foreign.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer error="invalid_token"',
    ])
    expect(((await foreign.json()) as { message: string }).message).toBe('not ours')
    expect(counted).toHaveLength(1)
    expect([runs, (await credits()).spent]).toEqual([1, 2])
  })
})
