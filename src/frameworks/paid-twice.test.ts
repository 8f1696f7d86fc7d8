import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express, { type ErrorRequestHandler } from 'express'
import createFastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import type { EmbeddedGateway, SvcPayment } from './embedding.ts'
import * as onExpress from './express.ts'
import { paystile, type RouteHook } from './fastify.ts'
import * as onHono from './hono.ts'

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** Every call is paid; what was charged and what was told of its end is noted. */
function paidGateway(agentName = 'Shop A') {
  const charged: string[] = []
  const finished: number[] = []
  const gateway = {
    discovery: { agentName, walletAddress: '0x1', routes: [{ routeId: 'weather' }, { routeId: 'news' }] },
    handle: async () => undefined,
    async chargeRoute(_request: Request, routeId: string) {
      charged.push(routeId)
      return {
        ...{ kind: 'paid', payment: { routeId }, headers: {}, headersFor: () => ({}) },
        finish: async (status: number) => void finished.push(status),
      }
    },
  } as unknown as EmbeddedGateway
  return { gateway, charged, finished }
}

type Guard = [gateway: EmbeddedGateway, routeId: string]
type Answer = { status: number; text: string }
/** Calls a route with these guards in front of its handler, and in front of them code that leaves `left` where they leave the payment. */
type Call = (guards: Guard[], left?: SvcPayment) => Promise<Answer>

const FRAMEWORKS: Array<[string, Call]> = [
  [
    'Express',
    async (guards, left) => {
      const app = express()
      app.use((req, _res, next) => {
        if (left) req.svcPayment = left
        next()
      })
      for (const guard of guards) app.use('/weather', onExpress.payPerRequest(...guard))
      app.get('/weather', (_req, res) => void res.send('sun'))
      app.use(((error, _req, res, _next) => void res.status(500).send(error.message)) as ErrorRequestHandler)
      const server = app.listen(0, '127.0.0.1')
      await once(server, 'listening')
      cleanups.push(() => server.close().closeAllConnections())
      const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`)
      return { status: answer.status, text: await answer.text() }
    },
  ],
  [
    'Hono',
    async (guards, left) => {
      const app = new Hono<{ Variables: { svcPayment: SvcPayment } }>()
      app.onError((error, c) => c.text(error.message, 500))
      app.use(async (c, next) => {
        if (left) c.set('svcPayment', left)
        await next()
      })
      for (const guard of guards) app.use('/weather', onHono.payPerRequest(...guard))
      app.get('/weather', (c) => c.text('sun'))
      const answer = await app.request('/weather')
      return { status: answer.status, text: await answer.text() }
    },
  ],
  [
    'Fastify',
    async (guards, left) => {
      const app = createFastify()
      cleanups.push(() => app.close())
      app.setErrorHandler<Error>((error, _request, reply) => reply.code(500).send(error.message))
      const hooks: RouteHook[] = []
      const gateways = [...new Set(guards.map(([gateway]) => gateway))]
      for (const [index, gateway] of gateways.entries()) {
        await app.register(async (scope) => {
          await scope.register(paystile, { gateway, prefix: `/pay${index}` })
          hooks.push(
            ...guards.flatMap(([of, routeId]) => (of === gateway ? [scope.payPerRequest(routeId)] : [])),
          )
          if (gateway !== gateways.at(-1)) return
          scope.addHook('onRequest', async (request) => {
            if (left) request.svcPayment = left
          })
          scope.get('/weather', { preHandler: hooks }, async () => 'sun')
        })
      }
      const { statusCode: status, body: text } = await app.inject('/weather')
      return { status, text }
    },
  ],
]

describe.each(FRAMEWORKS)('payPerRequest twice in %s', (_name, call) => {
  test('for the same route is paid once', async () => {
    const { gateway, charged, finished } = paidGateway()
    const guards: Guard[] = [
      [gateway, 'weather'],
      [gateway, 'weather'],
    ]
    expect(await call(guards)).toEqual({ status: 200, text: 'sun' })
    await expect.poll(() => finished).toEqual([200])
    expect(charged).toEqual(['weather'])
  })

  test('for two routes is refused before the second is charged, and the first has not been delivered', async () => {
    const { gateway, charged, finished } = paidGateway()
    const { status, text } = await call([
      [gateway, 'weather'],
      [gateway, 'news'],
    ])
    expect(status).toBe(500)
    expect(text).toContain(
      'payPerRequest: this request paid for the route "weather", and is to pay for "news"',
    )
    await expect.poll(() => finished).toEqual([500])
    expect(charged).toEqual(['weather'])
  })

  test('for two gateways does not pass the second unpaid, and the first has not been delivered', async () => {
    const [a, b] = [paidGateway('Shop A'), paidGateway('Shop B')]
    const { status, text } = await call([
      [a.gateway, 'weather'],
      [b.gateway, 'weather'],
    ])
    expect(status).toBe(500)
    for (const said of ['payPerRequest: ', '"weather" of "Shop A"', '"weather" of "Shop B"'])
      expect(text).toContain(said)
    await expect.poll(() => a.finished).toEqual([500])
    expect([a.charged, b.charged, b.finished]).toEqual([['weather'], [], []])
  })

  test('is not what other code is taken for that leaves a payment on the request', async () => {
    const { gateway, charged } = paidGateway()
    const left = { routeId: 'weather' } as SvcPayment
    expect(await call([[gateway, 'weather']], left)).toEqual({ status: 200, text: 'sun' })
    expect(charged).toEqual(['weather'])
  })
})

test('two gateways in one Fastify app work side by side, each in a scope of its own', async () => {
  const [one, two] = [paidGateway(), paidGateway()]
  const app = createFastify()
  cleanups.push(() => app.close())
  for (const [prefix, { gateway }] of Object.entries({ '/one': one, '/two': two })) {
    await app.register(
      async (scope) => {
        await scope.register(paystile, { gateway, prefix: '/pay' })
        scope.get('/weather', { preHandler: scope.payPerRequest('weather') }, async () => prefix)
      },
      { prefix },
    )
  }
  expect([(await app.inject('/one/weather')).body, (await app.inject('/two/weather')).body]).toEqual([
    '/one',
    '/two',
  ])
  expect([one.charged, two.charged, one.finished, two.finished]).toEqual([
    ...[['weather'], ['weather']],
    ...[[200], [200]],
  ])
})
