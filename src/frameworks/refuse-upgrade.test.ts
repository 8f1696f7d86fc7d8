import { once } from 'node:events'
import { get, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import createFastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import { CALL_KINDS, settledCalls } from '../../test/transports/sample-calls.ts'
import type { EmbeddedGateway } from './embedding.ts'
import { payPerRequest } from './express.ts'
import { paystile } from './fastify.ts'
import { payPerRequest as onHono } from './hono.ts'

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function listening(server: Server): Promise<string> {
  if (!server.listening) await once(server, 'listening')
  cleanups.push(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`
}

const SERVERS: Array<[string, (gateway: EmbeddedGateway) => Promise<string>]> = [
  [
    'Express',
    (gateway) => {
      const app = express().get('/weather', payPerRequest(gateway, 'weather'), (_req, res) => {
        res.send('sun')
      })
      return listening(app.listen(0, '127.0.0.1'))
    },
  ],
  [
    'Hono',
    (gateway) => {
      const app = new Hono().get('/weather', onHono(gateway, 'weather'), (c) => c.text('sun'))
      const options = { fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false }
      return listening(serve(options) as Server)
    },
  ],
  [
    'Fastify',
    async (gateway) => {
      const app = createFastify()
      cleanups.push(() => app.close())
      await app.register(paystile, { gateway, prefix: '/pay' })
      app.get('/weather', { preHandler: app.payPerRequest('weather') }, async () => 'sun')
      return `${await app.listen({ port: 0, host: '127.0.0.1' })}/weather`
    },
  ],
]

async function ask(url: string, upgrade: string) {
  const [answer] = await once(get(url, { headers: { connection: 'Upgrade', upgrade } }), 'response')
  return { status: answer.statusCode, body: Buffer.concat(await answer.toArray()).toString() }
}

describe.each(SERVERS)('%s', (_name, serving) => {
  test.each(CALL_KINDS)('nobody pays a %s call that asks for a WebSocket', async (kind) => {
    const { gateway, asked } = settledCalls(kind)
    const { status, body } = await ask(await serving(gateway), 'WebSocket')
    expect([status, JSON.parse(body).code, asked()]).toEqual([400, 'INVALID_REQUEST', 0])
    expect(body).toContain('requireAccess')
  })

  test('an offer of another protocol is left alone', async () => {
    const { gateway, asked } = settledCalls('paid')
    expect(await ask(await serving(gateway), 'h2c')).toEqual({ status: 200, body: 'sun' })
    expect(asked()).toBe(1)
  })
})
