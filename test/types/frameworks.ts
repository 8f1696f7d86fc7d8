// Compiled, not run: what handlers know of their parameters behind ours. test/snippets.test.ts compiles it as users do.
import express from 'express'
import createFastify from 'fastify'
import { Hono } from 'hono'
import type { Gateway } from 'paystile'
import type { EmbeddedGateway } from 'paystile/express'
import * as onExpress from 'paystile/express'
import { paystile as fastifyPaystile } from 'paystile/fastify'
import * as onHono from 'paystile/hono'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only when both types are the same. */
function same<A, B>(_: Equal<A, B>): void {}

export function expressKeepsItsTypes(gateway: EmbeddedGateway) {
  const app = express()
  app.use(onExpress.paystile(gateway))
  app.use('/pay', onExpress.paystile(gateway))
  app.get('/weather/:city', onExpress.payPerRequest(gateway, 'weather'), (req, res) => {
    same<typeof req.params.city, string>(true)
    // @ts-expect-error: the path has no such parameter
    req.params.town
    res.json({ city: req.params.city.toUpperCase(), paidBy: req.svcPayment?.payer })
  })
  app.get('/resource/:resourceId', onExpress.requireAccess(gateway), (req, res) => {
    same<typeof req.params.resourceId, string>(true)
    res.json({ wallet: req.svcAccess?.walletAddress })
  })
  app.get(
    '/both/:id',
    onExpress.requireAccess(gateway, { planId: 'pro', resourceParam: 'id' }),
    onExpress.payPerRequest(gateway, 'weather'),
    (req, res) => {
      same<typeof req.params.id, string>(true)
      res.json({})
    },
  )
  app.post<{ id: string }, { ok: true }, { text: string }>(
    '/typed/:id',
    onExpress.payPerRequest(gateway, 'weather'),
    (req, res) => {
      same<typeof req.body.text, string>(true)
      res.json({ ok: true })
    },
  )
  const router = express.Router()
  router.use(onExpress.requireAccess(gateway, (req) => ({ resourceId: String(req.params.id) })))
  router.get('/:name', onExpress.payPerRequest(gateway, 'weather'), (req, res) => {
    same<typeof req.params.name, string>(true)
    res.end()
  })
}

export function honoKeepsItsTypes(gateway: EmbeddedGateway) {
  const app = new Hono()
  app.use(onHono.paystile(gateway, { trustProxy: 1 }))
  app.get('/weather/:city', onHono.payPerRequest(gateway, 'weather'), (c) => {
    const city = c.req.param('city')
    same<typeof city, string>(true)
    return c.json({ city, paidBy: c.get('svcPayment').payer })
  })
  app.get('/resource/:resourceId', onHono.requireAccess(gateway), (c) => {
    const resourceId = c.req.param('resourceId')
    same<typeof resourceId, string>(true)
    return c.json({ wallet: c.get('svcAccess').walletAddress })
  })
  app.get(
    '/both/:id',
    onHono.requireAccess(gateway, { resourceParam: 'id' }),
    onHono.payPerRequest(gateway, 'weather'),
    (c) => {
      const id = c.req.param('id')
      same<typeof id, string>(true)
      return c.text(c.get('svcPayment').payer + c.get('svcAccess').walletAddress)
    },
  )
}

export async function fastifyKeepsItsTypes(gateway: EmbeddedGateway) {
  const app = createFastify()
  await app.register(fastifyPaystile, { gateway, prefix: '/pay' })
  app.get<{ Params: { city: string }; Querystring: { day?: string } }>(
    '/weather/:city',
    { preHandler: app.payPerRequest('weather') },
    async (request) => {
      same<typeof request.params.city, string>(true)
      return { city: request.params.city, paidBy: request.svcPayment?.payer }
    },
  )
  app.get<{ Params: { resourceId: string } }>(
    '/resource/:resourceId',
    { onRequest: [app.requireAccess(), app.payPerRequest('weather')] },
    async (request) => {
      same<typeof request.params.resourceId, string>(true)
      return { wallet: request.svcAccess?.walletAddress }
    },
  )
  const secure = createFastify({ http2: true })
  await secure.register(fastifyPaystile, { gateway })
  secure.get('/weather', { preHandler: secure.payPerRequest('weather') }, async () => 'sun')
}

export function everyGatewayCanBeEmbedded(gateway: Gateway): EmbeddedGateway {
  return gateway
}
