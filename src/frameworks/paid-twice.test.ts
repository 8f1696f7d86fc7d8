import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express, { type ErrorRequestHandler } from 'express'
import createFastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import type { EmbeddedGateway } from './embedding.ts'
import * as onExpress from './express.ts'
import { paystile } from './fastify.ts'
import * as onHono from './hono.ts'

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** Every call is paid; what was charged and what was told of its end is noted. */
function paidGateway() {
  const charged: string[] = []
  const finished: number[] = []
  const gateway = {
    discovery: { routes: [{ routeId: 'weather' }, { routeId: 'news' }] },
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

type Answer = { status: number; text: string }
/** Calls a route with `payPerRequest` for each of these in front of its handler. */
type Call = (gateway: EmbeddedGateway, routeIds: string[]) => Promise<Answer>

const FRAMEWORKS: Array<[string, Call]> = [
  [
    'Express',
    async (gateway, routeIds) => {
      const app = express()
      for (const routeId of routeIds) app.use('/weather', onExpress.payPerRequest(gateway, routeId))
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
    async (gateway, routeIds) => {
      const app = new Hono()
      app.onError((error, c) => c.text(error.message, 500))
      for (const routeId of routeIds) app.use('/weather', onHono.payPerRequest(gateway, routeId))
      app.get('/weather', (c) => c.text('sun'))
      const answer = await app.request('/weather')
      return { status: answer.status, text: await answer.text() }
    },
  ],
  [
    'Fastify',
    async (gateway, routeIds) => {
      const app = createFastify()
      cleanups.push(() => app.close())
      await app.register(paystile, { gateway, prefix: '/pay' })
      app.get('/weather', { preHandler: routeIds.map((id) => app.payPerRequest(id)) }, async () => 'sun')
      const { statusCode: status, body: text } = await app.inject('/weather')
      return { status, text }
    },
  ],
]

describe.each(FRAMEWORKS)('payPerRequest twice in %s', (_name, call) => {
  test('for the same route is paid once', async () => {
    const { gateway, charged, finished } = paidGateway()
    expect(await call(gateway, ['weather', 'weather'])).toEqual({ status: 200, text: 'sun' })
    await expect.poll(() => finished).toEqual([200])
    expect(charged).toEqual(['weather'])
  })

  test('for two routes is refused before the second is charged, and the first has not been delivered', async () => {
    const { gateway, charged, finished } = paidGateway()
    const { status, text } = await call(gateway, ['weather', 'news'])
    expect(status).toBe(500)
    expect(text).toContain(
      'payPerRequest: this request paid for the route \\"weather\\"'.replaceAll(
        '\\',
        _name === 'Fastify' ? '\\' : '',
      ),
    )
    await expect.poll(() => finished).toEqual([500])
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
