import { once } from 'node:events'
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { serve } from '@hono/node-server'
import express from 'express'
import createFastify from 'fastify'
import { Hono } from 'hono'
import { payPerRequest } from '../../src/frameworks/express.ts'
import { paystile } from '../../src/frameworks/fastify.ts'
import * as honoPaystile from '../../src/frameworks/hono.ts'
import type { Gateway } from '../../src/gateway.ts'
import type { SvcPayment } from '../../src/protocol/access.ts'

// Installed under another name, for which there are no types.
const express4: typeof express = createRequire(import.meta.url)('express4')
const HOST = '127.0.0.1'

type Charge = ((amount: string | number) => void) | undefined

/** What the handler of every framework does: it says what the call costs, and answers. */
export interface MeteredSeller {
  runs: Array<SvcPayment | undefined>
  answer(charge: Charge): Promise<{
    status: number
    headers?: Record<string, string>
    body: unknown
    /** In place of `body`. */
    events?: AsyncIterable<string>
  }>
}

interface Running {
  url: string
  close(): Promise<void>
}
type Start = (gateway: Gateway, seller: MeteredSeller) => Promise<Running>

/** The same metered route in every framework; a header of the app stands in front. */
export const METERED_APPS: Array<{ name: string; start: Start }> = [
  { name: 'Express 5', start: startExpress(express) },
  { name: 'Express 4', start: startExpress(express4) },
  { name: 'Hono', start: startHono },
  { name: 'Fastify', start: startFastify },
]

function startExpress(create: typeof express): Start {
  return async (gateway, seller) => {
    const app = create()
    app.use((_req, res, next) => {
      res.setHeader('access-control-allow-origin', 'https://shop.example')
      next()
    })
    app.post('/chat', payPerRequest(gateway, 'chat'), (req, res, next) => {
      seller.runs.push(req.svcPayment)
      if (res.locals.charge !== req.svcCharge) throw new Error('locals differ')
      seller
        .answer(req.svcCharge)
        .then(async ({ status, headers = {}, body, events }) => {
          res.status(status).set(headers)
          if (!events) return res.json(body)
          res.flushHeaders()
          for await (const event of events) res.write(event)
          return res.end()
        })
        .catch(next)
    })
    // Express prints what it catches, unless somebody answers it.
    app.use(((_error, _req, res, next) => {
      if (res.headersSent) return next()
      res.status(500).send('the app failed')
    }) as express.ErrorRequestHandler)
    return listening(app.listen(0, HOST))
  }
}

async function startHono(gateway: Gateway, seller: MeteredSeller): Promise<Running> {
  const app = new Hono()
  app.use(async (c, next) => {
    c.res.headers.set('access-control-allow-origin', 'https://shop.example')
    await next()
  })
  app.onError((_error, c) => c.text('the app failed', 500))
  app.post('/chat', honoPaystile.payPerRequest(gateway, 'chat'), async (c) => {
    seller.runs.push(c.get('svcPayment'))
    const { status, headers, body, events } = await seller.answer(c.get('svcCharge'))
    if (events) {
      const bytes = Readable.from(events).map((event: string) => Buffer.from(event))
      return c.body(Readable.toWeb(bytes) as ReadableStream, 200, headers)
    }
    return c.json(body as object, status as 200, headers)
  })
  // Hono's server puts its own Request and Response in place of the global ones; the next test file wants them back.
  const { Request, Response } = globalThis
  const running = await listening(serve({ fetch: app.fetch, port: 0, hostname: HOST }) as Server)
  return {
    ...running,
    async close() {
      await running.close()
      for (const [name, value] of Object.entries({ Request, Response })) {
        Object.defineProperty(globalThis, name, { value, writable: true, configurable: true })
      }
    },
  }
}

async function startFastify(gateway: Gateway, seller: MeteredSeller): Promise<Running> {
  const app = createFastify()
  await app.register(paystile, { gateway, prefix: '/pay' })
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('access-control-allow-origin', 'https://shop.example')
  })
  app.setErrorHandler((_error, _request, reply) => reply.code(500).send('the app failed'))
  app.post('/chat', { preHandler: app.payPerRequest('chat') }, async (request, reply) => {
    seller.runs.push(request.svcPayment)
    const { status, headers = {}, body, events } = await seller.answer(request.svcCharge)
    return reply
      .code(status)
      .headers(headers)
      .send(events ? Readable.from(events) : body)
  })
  await app.listen({ port: 0, host: HOST })
  const running = await listening(app.server)
  return { ...running, close: () => running.close().then(() => app.close()) }
}

async function listening(server: Server): Promise<Running> {
  if (!server.listening) await once(server, 'listening')
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    async close() {
      const gone = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await gone
    },
  }
}
