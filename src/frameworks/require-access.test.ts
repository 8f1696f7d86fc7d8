import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express, { type ErrorRequestHandler } from 'express'
import createFastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import { GatewayError } from '../errors.ts'
import type { EmbeddedGateway, RequiredAccess } from './embedding.ts'
import * as onExpress from './express.ts'
import { paystile as onFastify } from './fastify.ts'
import * as onHono from './hono.ts'

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** A gateway that is asked about tokens and nothing else. */
function guarding(verifyAccess: EmbeddedGateway['verifyAccess']): EmbeddedGateway {
  return { verifyAccess, handle: async () => undefined } as Partial<EmbeddedGateway> as EmbeddedGateway
}

test('a resource id that a misspelt parameter leaves undefined opens nothing', async () => {
  const wide = guarding(async () => ({ ok: true, claims: {} as never }))
  const app = new Hono()
  const misspelt = onHono.requireAccess(wide, (c) => ({ resourceId: c.req.param('idd') }))
  app.get('/resource/:id', misspelt, (c) => c.text('open'))
  app.onError((error, c) => c.text(error.message, 500))
  const answer = await app.request('/resource/a')
  expect([answer.status, await answer.text()]).toEqual([
    500,
    'requireAccess: resourceId is undefined, not a text.',
  ])
})

test.each<[string, (required: RequiredAccess) => unknown]>([
  ['Express', (required) => onExpress.requireAccess(gatewayOfMine(), required)],
  ['Hono', (required) => onHono.requireAccess(gatewayOfMine(), required)],
  [
    'Fastify',
    async (required) => {
      const app = createFastify()
      cleanups.push(() => app.close())
      await app.register(onFastify, { gateway: gatewayOfMine() })
      return app.requireAccess(required)
    },
  ],
])('%s refuses to start with a misspelt option, which would leave the guard open', async (_name, build) => {
  const start = async (required: object) => build(required as RequiredAccess)
  await expect(start({ planID: 'pro' })).rejects.toThrow(
    'requireAccess: planID is not an option; did you mean "planId"?',
  )
  await expect(start({ resourceParm: 'id' })).rejects.toThrow('did you mean "resourceParam"?')
  await expect(start('pro' as unknown as object)).rejects.toThrow('the options are a string')
  await expect(start({ planId: 'the pro plan' })).rejects.toThrow('requireAccess: planId must be 1 to 128')
  await expect(start({ planId: undefined, planID: undefined })).resolves.toBeDefined()
})

test('so does what a function asks for, at each request; a promise asks for nothing', async () => {
  const wide = guarding(async () => ({ ok: true, claims: {} as never }))
  const app = new Hono()
  const asking = (required: unknown) => onHono.requireAccess(wide, () => required as RequiredAccess)
  app.get('/misspelt', asking({ planID: 'pro' }), (c) => c.text('open'))
  app.get('/promise', asking(Promise.resolve({ planId: 'pro' })), (c) => c.text('open'))
  app.onError((error, c) => c.text(error.message, 500))
  expect(await (await app.request('/misspelt')).text()).toContain('did you mean "planId"?')
  expect(await (await app.request('/promise')).text()).toContain('the options are a promise')
})

/** Knows one token, which was bought for the resource `mine`. */
function gatewayOfMine(): EmbeddedGateway {
  const claims = { resourceId: 'mine' } as never
  return guarding(async (_request, { resourceId = 'mine' } = {}) =>
    resourceId === 'mine'
      ? { ok: true, claims }
      : { ok: false, error: new GatewayError('UNAUTHORIZED', `for mine, not ${resourceId}`) },
  )
}

const CACHEABLE = { 'cache-control': 'public, max-age=60', 'cdn-cache-control': 'max-age=60' }

describe.each([
  [
    'Express',
    async (path: string, required?: RequiredAccess) => {
      const app = express().get(path, onExpress.requireAccess(gatewayOfMine(), required), (_req, res) => {
        res.set(CACHEABLE).send('open')
      })
      app.use(((error, _req, res, _next) => void res.status(500).send(error.message)) as ErrorRequestHandler)
      const server = app.listen(0, '127.0.0.1')
      await once(server, 'listening')
      cleanups.push(() => server.close().closeAllConnections())
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      return (target: string) => fetch(url + target)
    },
  ],
  [
    'Hono',
    async (path: string, required?: RequiredAccess) => {
      const app = new Hono()
      app.get(path, onHono.requireAccess(gatewayOfMine(), required), (c) => c.text('open', 200, CACHEABLE))
      return async (target: string) => app.request(target)
    },
  ],
  [
    'Hono, as middleware before the route',
    async (path: string, required?: RequiredAccess) => {
      const app = new Hono()
      app.use('*', onHono.requireAccess(gatewayOfMine(), required))
      app.get(path, () => new Response('open', { headers: CACHEABLE }))
      return async (target: string) => app.request(target)
    },
  ],
  [
    'Fastify',
    async (path: string, required?: RequiredAccess) => {
      const app = createFastify()
      cleanups.push(() => app.close())
      await app.register(onFastify, { gateway: gatewayOfMine() })
      app.get(path, { onRequest: app.requireAccess(required) }, async (_request, reply) =>
        reply.headers(CACHEABLE).send('open'),
      )
      return async (target: string) => {
        const { statusCode: status, headers } = await app.inject(target)
        return new Response(null, { status, headers: headers as Record<string, string> })
      }
    },
  ],
])('access in %s', (_name, serve) => {
  const serveGuarded = async (path: string, required?: RequiredAccess) => {
    const ask = await serve(path, required)
    return async (target: string) => (await ask(target)).status
  }

  test('what only its buyer may read is kept by no cache, whatever the handler says', async () => {
    const { status, headers } = await (await serve('/resource/:resourceId'))('/resource/mine')
    expect([status, headers.get('cache-control'), headers.get('cdn-cache-control')]).toEqual([
      ...[200, 'no-store, private', null],
    ])
  })

  test('a token for one resource opens no other: the path parameter resourceId is asked for', async () => {
    const statusOf = await serveGuarded('/resource/:resourceId')
    expect([await statusOf('/resource/mine'), await statusOf('/resource/yours')]).toEqual([200, 401])
    expect(await statusOf('/resource/%6dine')).toBe(200)
  })

  test('a plan that is named does not take its place', async () => {
    const statusOf = await serveGuarded('/resource/:resourceId', { planId: 'hourly' })
    expect([await statusOf('/resource/mine'), await statusOf('/resource/yours')]).toEqual([200, 401])
  })

  test('the parameter may have another name, and one that the path lacks opens nothing', async () => {
    const statusOf = await serveGuarded('/report/:id', { resourceParam: 'id' })
    expect([await statusOf('/report/mine'), await statusOf('/report/yours')]).toEqual([200, 401])
    const misspelt = await serveGuarded('/report/:id', { resourceParam: 'idd' })
    expect(await misspelt('/report/mine')).toBe(500)
  })

  test('a resource that is named is the one, whatever the path says; false asks for none', async () => {
    const fixed = await serveGuarded('/resource/:resourceId', { resourceId: 'mine' })
    expect(await fixed('/resource/yours')).toBe(200)
    const other = await serveGuarded('/resource/:resourceId', { resourceId: 'yours' })
    expect(await other('/resource/yours')).toBe(401)
    const any = await serveGuarded('/resource/:resourceId', { resourceId: false })
    expect(await any('/resource/yours')).toBe(200)
    const plain = await serveGuarded('/news')
    expect(await plain('/news')).toBe(200)
  })
})
