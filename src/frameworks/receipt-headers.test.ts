import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import createFastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import { sampleDialects, samplePaymentHeader } from '../../test/transports/sample-x402.ts'
import type { HandlerResult, Outcome } from '../engine/outcome.ts'
import { decodeJsonObject } from '../protocol/base64.ts'
import { receiptExtension } from '../protocol/receipts.ts'
import { createChargeRoute } from '../transports/http/charge-route.ts'
import type { EmbeddedGateway } from './embedding.ts'
import * as onExpress from './express.ts'
import { paystile as onFastify } from './fastify.ts'
import * as onHono from './hono.ts'

const CACHEABLE = { 'cache-control': 'public, max-age=60', 'cdn-cache-control': 'max-age=60' }
const baseUrl = 'https://shop.example/pay'
const header = samplePaymentHeader({ extra: { challengeId: 'http-1' } })
const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** Every call is paid, and signed as often as it is asked for; `stored` is what another try has stored before. */
function signingGateway(stored?: string) {
  let signed = 0
  const finished: HandlerResult[] = []
  const paid: Outcome = {
    kind: 'paid',
    payment: {
      ...{ txHash: '0xab', explorerUrl: '', payer: '0x1', amount: '1', network: 'eip155:84532' },
      ...{ challengeId: 'http-1', requestId: 'r-1' },
    },
    settled: { txHash: '0xab', network: 'eip155:84532' },
    lease: 1,
    notice: {
      refund: { state: 'SCHEDULED', when: '2026-11-16T10:00:00.000Z' },
      statusUrl: `${baseUrl}/status`,
    },
    signReceipt: () => ({ transaction: '0xab', jws: `signed ${++signed}` }),
  }
  const chargeRoute = createChargeRoute({
    engine: {
      purchase: async () => paid,
      renew: async () => true,
      async finish(_challengeId, _lease, result) {
        finished.push(result)
        return stored ?? (result.ok ? result.receipt?.jws : undefined)
      },
    },
    dialects: sampleDialects(baseUrl),
    leaseMs: 60_000,
    baseUrl,
    discovery: { plans: [], routes: [] },
  })
  const gateway = {
    discovery: { routes: [{ routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' }] },
    verifyBearer: () => Promise.reject(new Error('not asked here')),
    handle: async () => undefined,
    chargeRoute,
  } as unknown as EmbeddedGateway
  return { gateway, finished }
}

async function fastifyWith(gateway: EmbeddedGateway): Promise<FastifyInstance> {
  const app = createFastify()
  cleanups.push(() => app.close())
  await app.register(onFastify, { gateway, prefix: '/pay' })
  return app
}

async function injected(app: FastifyInstance): Promise<Headers> {
  const { headers } = await app.inject({ url: '/weather', headers: { 'payment-signature': header } })
  return new Headers(headers as Record<string, string>)
}

const APPS: Array<[string, (gateway: EmbeddedGateway, status: number) => Promise<Headers>]> = [
  [
    'Hono',
    async (gateway, status) => {
      const app = new Hono().get('/weather', onHono.payPerRequest(gateway, 'weather'), (c) =>
        c.text('sun', status as 200, CACHEABLE),
      )
      return (await app.request('/weather', { headers: { 'payment-signature': header } })).headers
    },
  ],
  [
    'Fastify',
    async (gateway, status) => {
      const app = await fastifyWith(gateway)
      app.get('/weather', { preHandler: app.payPerRequest('weather') }, async (_request, reply) =>
        reply.status(status).headers(CACHEABLE).send('sun'),
      )
      return injected(app)
    },
  ],
  [
    'Fastify, where the handler returns a Response',
    async (gateway, status) => {
      const app = await fastifyWith(gateway)
      app.get('/weather', { preHandler: app.payPerRequest('weather') }, async () => {
        return new Response('sun', { status, headers: CACHEABLE })
      })
      return injected(app)
    },
  ],
  [
    'Fastify, where the handler hijacks the reply',
    async (gateway, status) => {
      const app = await fastifyWith(gateway)
      app.get('/weather', { preHandler: app.payPerRequest('weather') }, async (_request, reply) => {
        reply.hijack()
        const head = { 'content-type': 'text/event-stream', ...CACHEABLE }
        reply.raw.writeHead(status, head).end('data: sun\n\n')
      })
      return injected(app)
    },
  ],
]

// The head is out before the delivery is stored.
const EARLY_HEADS: typeof APPS = [
  [
    'Express',
    async (gateway, status) => {
      const app = express().get('/weather', onExpress.payPerRequest(gateway, 'weather'), (_req, res) => {
        res.status(status).set(CACHEABLE).send('sun')
      })
      const server: Server = app.listen(0, '127.0.0.1')
      cleanups.push(() => server.close().closeAllConnections())
      await once(server, 'listening')
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`
      return (await fetch(url, { headers: { 'payment-signature': header } })).headers
    },
  ],
]

describe.each([...APPS, ...EARLY_HEADS])('%s', (_name, call) => {
  test('an answer has the receipt that is stored with its delivery, and the address of its page', async () => {
    const { gateway, finished } = signingGateway()
    const headers = await call(gateway, 200)
    expect(decodeJsonObject(headers.get('payment-response')!)).toMatchObject({
      success: true,
      extensions: receiptExtension('signed 1'),
    })
    expect(headers.get('x-svc-receipt-url')).toBe('https://shop.example/pay/receipts/http-1')
    await expect
      .poll(() => finished)
      .toEqual([{ ok: true, receipt: { transaction: '0xab', jws: 'signed 1' } }])
  })

  test('an answer that is no delivery has none', async () => {
    const { gateway, finished } = signingGateway()
    const headers = await call(gateway, 500)
    const response = decodeJsonObject(headers.get('payment-response')!)
    expect(response).toMatchObject({ success: true })
    expect(response).not.toHaveProperty('extensions')
    expect([headers.get('x-svc-refund'), headers.get('x-svc-status-url')]).toEqual([
      'SCHEDULED',
      `${baseUrl}/status`,
    ])
    await expect.poll(() => finished).toMatchObject([{ ok: false }])
  })

  test.each([200, 500])(
    'an answer of status %i is kept by no cache, whatever its handler says',
    async (status) => {
      const headers = await call(signingGateway().gateway, status)
      expect(headers.get('cache-control')).toBe('no-store, private')
      expect(headers.get('cdn-cache-control')).toBeNull()
    },
  )
})

test.each(APPS)('%s: if another try delivered first, its receipt is shown', async (_name, call) => {
  const headers = await call(signingGateway('signed by the other').gateway, 200)
  expect(decodeJsonObject(headers.get('payment-response')!)).toMatchObject({
    extensions: receiptExtension('signed by the other'),
  })
})
