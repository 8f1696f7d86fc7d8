import { once } from 'node:events'
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { serve } from '@hono/node-server'
import express from 'express'
import createFastify from 'fastify'
import { Hono } from 'hono'
import { payPerRequest, paystile, requireAccess } from '../../src/frameworks/express.ts'
import { paystile as fastifyPaystile } from '../../src/frameworks/fastify.ts'
import * as honoPaystile from '../../src/frameworks/hono.ts'
import { type App, ROUTES, type StartApp } from './frameworks-seller.ts'

// Installed under another name, for which there are no types.
const express4: typeof express = createRequire(import.meta.url)('express4')
const HOST = '127.0.0.1'
/** One route says for itself what it delivers. */
const routes = ROUTES.map((route) =>
  route.routeId === 'lenient' ? { ...route, delivered: (status: number) => status < 500 } : route,
)

/** The seller's parser stands first, so that the gateway gets requests whose body is read already. */
function startExpress(create: typeof express): StartApp {
  return async ({ gateway, seller, basePath, port }) => {
    const app = create()
    app.use(create.json())
    if (basePath === '') app.use(paystile(gateway))
    else app.use(basePath, paystile(gateway))
    app.get('/own/hello', (_req, res) => void res.send('hello'))
    app.post('/own/json', (req, res) => void res.json({ got: req.body }))
    app.get('/sell/weather/:city', payPerRequest(gateway, 'weather'), (req, res) => {
      seller.enter('weather', req.svcPayment)
      res.status(200).set('x-seller', 'own').json({ city: req.params.city, query: req.query })
    })
    app.post('/sell/echo', payPerRequest(gateway, 'echo'), (req, res) => {
      seller.enter('echo', req.svcPayment)
      res.status(201).json({ got: req.body })
    })
    app.get('/sell/download', payPerRequest(gateway, 'download'), (req, res) => {
      seller.enter('download', req.svcPayment)
      res.type('application/octet-stream')
      Readable.from(seller.chunks()).pipe(res)
    })
    app.get('/sell/moody', payPerRequest(gateway, 'moody'), (req, res) => {
      seller.enter('moody', req.svcPayment)
      const { status, body } = seller.answer()
      res.status(status).json(body)
    })
    app.get('/sell/slow', payPerRequest(gateway, 'slow'), (req, res, next) => {
      seller.enter('slow', req.svcPayment)
      // Express 4 knows nothing of promises.
      seller.gate.promise
        .then(() => seller.answer())
        .then(({ status, body }) => res.status(status).json(body))
        .catch(next)
    })
    app.get('/sell/lenient', payPerRequest(gateway, 'lenient'), (req, res) => {
      seller.enter('lenient', req.svcPayment)
      const { status, body } = seller.answer()
      res.status(status).json(body)
    })
    const byId = requireAccess(gateway, (req) => ({ resourceId: String(req.params.id) }))
    app.get('/resource/:id', byId, (req, res) => void res.json({ wallet: req.svcAccess?.walletAddress }))
    const proOnly = requireAccess(gateway, { planId: 'pro' })
    app.get('/pro', proOnly, (req, res) => void res.json({ planId: req.svcAccess?.planId }))
    const server = app.listen(port, HOST)
    await once(server, 'listening')
    return { close: () => closed(server) }
  }
}

const startHono: StartApp = async ({ gateway, seller, basePath, port }) => {
  const { paystile, payPerRequest, requireAccess } = honoPaystile
  const app = new Hono()
  // Reads every body before the gateway does, as a seller's validator might.
  app.use(async (c, next) => {
    if (c.req.header('content-type')?.includes('json')) await c.req.text()
    await next()
  })
  if (basePath === '') app.use(paystile(gateway))
  else app.use(`${basePath}/*`, paystile(gateway))
  app.onError((error, c) => c.text(`seen: ${error.message}`, 500))
  app.get('/own/hello', (c) => c.text('hello'))
  app.post('/own/json', async (c) => c.json({ got: await c.req.json() }))
  app.get('/sell/weather/:city', payPerRequest(gateway, 'weather'), (c) => {
    seller.enter('weather', c.get('svcPayment'))
    return c.json({ city: c.req.param('city'), query: c.req.query() }, 200, { 'x-seller': 'own' })
  })
  app.post('/sell/echo', payPerRequest(gateway, 'echo'), async (c) => {
    seller.enter('echo', c.get('svcPayment'))
    return c.json({ got: await c.req.json() }, 201)
  })
  app.get('/sell/download', payPerRequest(gateway, 'download'), (c) => {
    seller.enter('download', c.get('svcPayment'))
    const chunks = seller.chunks()
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const { done, value } = chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
    })
    return new Response(body, { headers: { 'content-type': 'application/octet-stream' } })
  })
  app.get('/sell/moody', payPerRequest(gateway, 'moody'), (c) => {
    seller.enter('moody', c.get('svcPayment'))
    const { status, body } = seller.answer()
    return c.json(body, status)
  })
  app.get('/sell/slow', payPerRequest(gateway, 'slow'), async (c) => {
    seller.enter('slow', c.get('svcPayment'))
    await seller.gate.promise
    const { status, body } = seller.answer()
    return c.json(body, status)
  })
  app.get('/sell/lenient', payPerRequest(gateway, 'lenient'), (c) => {
    seller.enter('lenient', c.get('svcPayment'))
    const { status, body } = seller.answer()
    return c.json(body, status)
  })
  const byId = requireAccess(gateway, (c) => ({ resourceId: c.req.param('id') ?? '' }))
  app.get('/resource/:id', byId, (c) => c.json({ wallet: c.get('svcAccess').walletAddress }))
  const proOnly = requireAccess(gateway, { planId: 'pro' })
  app.get('/pro', proOnly, (c) => c.json({ planId: c.get('svcAccess').planId }))
  // Hono's server puts its own Request and Response in place of the global ones; the next test file wants them back.
  const { Request, Response } = globalThis
  const server = serve({ fetch: app.fetch, port, hostname: HOST }) as Server
  await once(server, 'listening')
  return {
    async close() {
      await closed(server)
      for (const [name, value] of Object.entries({ Request, Response })) {
        Object.defineProperty(globalThis, name, { value, writable: true, configurable: true })
      }
    },
  }
}

const startFastify: StartApp = async ({ gateway, seller, basePath, port }) => {
  const app = createFastify()
  await app.register(fastifyPaystile, { gateway, prefix: basePath })
  app.get('/own/hello', async () => 'hello')
  app.post('/own/json', async (request) => ({ got: request.body }))
  app.get<{ Params: { city: string } }>(
    '/sell/weather/:city',
    { preHandler: app.payPerRequest('weather') },
    async (request, reply) => {
      seller.enter('weather', request.svcPayment)
      reply.header('x-seller', 'own')
      return { city: request.params.city, query: request.query }
    },
  )
  app.post('/sell/echo', { onRequest: app.payPerRequest('echo') }, async (request, reply) => {
    seller.enter('echo', request.svcPayment)
    return reply.code(201).send({ got: request.body })
  })
  app.get('/sell/download', { preHandler: app.payPerRequest('download') }, async (request, reply) => {
    seller.enter('download', request.svcPayment)
    return reply.type('application/octet-stream').send(Readable.from(seller.chunks()))
  })
  app.get('/sell/moody', { preHandler: app.payPerRequest('moody') }, async (request, reply) => {
    seller.enter('moody', request.svcPayment)
    const { status, body } = seller.answer()
    return reply.code(status).send(body)
  })
  app.get('/sell/slow', { preHandler: app.payPerRequest('slow') }, async (request, reply) => {
    seller.enter('slow', request.svcPayment)
    await seller.gate.promise
    const { status, body } = seller.answer()
    return reply.code(status).send(body)
  })
  app.get('/sell/lenient', { preHandler: app.payPerRequest('lenient') }, async (request, reply) => {
    seller.enter('lenient', request.svcPayment)
    const { status, body } = seller.answer()
    return reply.code(status).send(body)
  })
  const byId = app.requireAccess((request) => ({ resourceId: (request.params as { id: string }).id }))
  app.get('/resource/:id', { preHandler: byId }, async (request) => ({
    wallet: request.svcAccess?.walletAddress,
  }))
  app.get('/pro', { onRequest: app.requireAccess({ planId: 'pro' }) }, async (request) => ({
    planId: request.svcAccess?.planId,
  }))
  await app.listen({ port, host: HOST })
  return { close: () => closed(app.server).then(() => app.close()) }
}

async function closed(server: Server): Promise<void> {
  const gone = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await gone
}

function embedded(name: string, start: StartApp): App {
  return { name, embedded: true, prepare: async () => ({ options: { routes }, start }) }
}

export const EMBEDDED: App[] = [
  embedded('Express 5', startExpress(express)),
  embedded('Express 4', startExpress(express4)),
  embedded('Hono', startHono),
  embedded('Fastify', startFastify),
]
