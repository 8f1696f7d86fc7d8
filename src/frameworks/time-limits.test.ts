import { once } from 'node:events'
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import express from 'express'
import createFastify from 'fastify'
import { type Context, Hono } from 'hono'
import { timeout } from 'hono/timeout'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { CALL_KINDS, sampleCalls } from '../../test/transports/sample-calls.ts'
import { payPerRequest } from './express.ts'
import { paystile } from './fastify.ts'
import { payPerRequest as onHono } from './hono.ts'

const express4 = createRequire(import.meta.url)('express4') as typeof express
const native = { Request: globalThis.Request, Response: globalThis.Response }
const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
  Object.assign(globalThis, native)
})

async function addressOf(server: Server): Promise<string> {
  if (!server.listening) await once(server, 'listening')
  cleanups.push(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`
}

/** What nobody catches would end the process of a seller. */
function noteUncaught(): unknown[] {
  const uncaught: unknown[] = []
  const note = (error: unknown) => void uncaught.push(error)
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException').on('uncaughtException', note)
  cleanups.push(() => {
    process.off('uncaughtException', note)
    for (const listener of before) process.on('uncaughtException', listener)
  })
  return uncaught
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 50))

describe.each(CALL_KINDS)(
  'a %s call that is charged after a time limit in front has answered has failed:',
  (kind) => {
    test.each([
      ['5', express],
      ['4', express4],
    ])('Express %s', async (_version, make) => {
      const { gateway, finished, settle, asked } = sampleCalls(kind)
      const uncaught = noteUncaught()
      const handler = vi.fn()
      let strike: () => void = () => {}
      const app = make().set('env', 'test')
      app.use((_req, res, next) => {
        strike = () => void res.status(503).send('too slow')
        next()
      })
      app.get('/weather', payPerRequest(gateway, 'weather'), handler)
      const asking = fetch(await addressOf(app.listen(0, '127.0.0.1')))
      await expect.poll(asked).toBe(1)
      strike()
      const answer = await asking
      expect([answer.status, await answer.text()]).toEqual([503, 'too slow'])
      settle()
      await expect.poll(() => finished).toEqual([500])
      await turn()
      expect([handler.mock.calls, uncaught]).toEqual([[], []])
    })

    test('Fastify', async () => {
      const { gateway, finished, settle } = sampleCalls(kind)
      const handler = vi.fn(async () => 'sun')
      const app = createFastify({ handlerTimeout: 30 })
      cleanups.push(() => app.close())
      await app.register(paystile, { gateway, prefix: '/pay' })
      app.get('/weather', { preHandler: app.payPerRequest('weather') }, handler)
      expect((await fetch(`${await app.listen({ port: 0, host: '127.0.0.1' })}/weather`)).status).toBe(503)
      settle()
      await expect.poll(() => finished).toEqual([500])
      await turn()
      expect(handler).not.toHaveBeenCalled()
    })

    test.each([true, false])(
      'Hono, with a Response of the server’s own: %s',
      async (overrideGlobalObjects) => {
        const { gateway, finished, settle } = sampleCalls(kind)
        const handler = vi.fn((c: Context) => c.text('sun'))
        const app = new Hono().use(timeout(20)).get('/weather', onHono(gateway, 'weather'), handler)
        const options = { fetch: app.fetch, port: 0, hostname: '127.0.0.1' }
        // The type knows `false` only.
        const server = serve(overrideGlobalObjects ? options : { ...options, overrideGlobalObjects })
        expect((await fetch(await addressOf(server as Server))).status).toBe(504)
        settle()
        await expect.poll(() => finished).toEqual([500])
        await turn()
        expect(handler).not.toHaveBeenCalled()
      },
    )
  },
)

test('what the gateway itself would answer does not disturb the answer that is out', async () => {
  const { gateway } = sampleCalls('paid')
  const errors = vi.fn()
  let strike: () => void = () => {}
  let refuse: (response: Response) => void = () => {}
  gateway.chargeRoute = async () => {
    const response = await new Promise<Response>((resolve) => {
      refuse = resolve
    })
    return { kind: 'respond', response }
  }
  const app = express().set('env', 'test')
  app.use((_req, res, next) => {
    strike = () => void res.status(503).send('too slow')
    next()
  })
  app.get('/weather', payPerRequest(gateway, 'weather'))
  app.use(((error, _req, _res, _next) => errors(error)) as express.ErrorRequestHandler)
  const unset = refuse
  const asking = fetch(await addressOf(app.listen(0, '127.0.0.1')))
  await expect.poll(() => refuse).not.toBe(unset)
  strike()
  expect((await asking).status).toBe(503)
  refuse(new Response('pay first', { status: 402 }))
  await turn()
  expect(errors).not.toHaveBeenCalled()
})
