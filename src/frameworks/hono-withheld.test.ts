import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type Handler, Hono, type MiddlewareHandler } from 'hono'
import { timeout } from 'hono/timeout'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { EmbeddedGateway } from './embedding.ts'
import { payPerRequest } from './hono.ts'

const native = { Request: globalThis.Request, Response: globalThis.Response }
const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
  Object.assign(globalThis, native)
})

// By default @hono/node-server puts a Response of its own in place of the global one.
describe.each([true, false])('on a server that replaces the global Response: %s', (replacesGlobals) => {
  /** Every call is paid, and `finish` is told of its end; the app's error handler answers 503, and 504 to a time limit. */
  async function serveApp(
    finish: (status: number) => Promise<void>,
    ...handlers: Array<Handler | MiddlewareHandler>
  ) {
    const gateway = {
      discovery: { routes: [{ routeId: 'weather' }] },
      chargeRoute: async () => ({
        ...{ kind: 'paid', payment: { routeId: 'weather' }, finish },
        headers: { 'payment-response': 'receipt' },
        headersFor: () => ({ 'x-told': 'earned' }),
      }),
    } as unknown as EmbeddedGateway
    const handler = handlers.pop() as Handler
    const app = new Hono()
    app.onError((error, c) => c.text('the app failed', 'getResponse' in error ? 504 : 503))
    for (const middleware of handlers) app.use(middleware)
    app.get('/weather', payPerRequest(gateway, 'weather'), handler)
    const options = { fetch: app.fetch, port: 0, hostname: '127.0.0.1' }
    const server = serve(replacesGlobals ? options : { ...options, overrideGlobalObjects: false }) as Server
    await once(server, 'listening')
    cleanups.push(() => server.close().closeAllConnections())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`
  }

  const away = () => Promise.reject(new Error('the store is away'))

  describe('a buyer can read why an answer is withheld whose delivery cannot be stored:', () => {
    test.each<[string, ConstructorParameters<typeof Headers>[0]]>([
      ['one with a length', { 'content-length': '1000' }],
      ['one that is compressed', { 'content-encoding': 'gzip', etag: '"x"' }],
    ])('%s', async (_what, headers) => {
      const url = await serveApp(away, () => new Response(Buffer.alloc(1000), { headers }))
      const answer = await fetch(url)
      expect([answer.status, await answer.text()]).toEqual([503, 'the app failed'])
      expect([answer.headers.get('etag'), answer.headers.get('x-told')]).toEqual([null, null])
    })

    test('a stream, which is ended', async () => {
      const cancel = vi.fn()
      const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(Buffer.alloc(100))
      const url = await serveApp(away, (c) => c.body(new ReadableStream({ pull, cancel })))
      const answer = await fetch(url)
      expect([answer.status, await answer.text()]).toEqual([503, 'the app failed'])
      expect(cancel).toHaveBeenCalledOnce()
    })

    test('a stream that fails before its first byte', async () => {
      const pull = (controller: ReadableStreamDefaultController) => controller.error(new Error('gone'))
      const headers = { 'content-length': '1000' }
      const url = await serveApp(away, (c) => c.body(new ReadableStream({ pull }), 200, headers))
      const answer = await fetch(url)
      expect([answer.status, await answer.text()]).toEqual([503, 'the app failed'])
    })
  })

  test('a store that fails after a time limit in front has answered changes nothing of that answer', async () => {
    let fail: (error: Error) => void = () => {}
    const failing = new Promise<void>((_resolve, reject) => {
      fail = reject
    })
    const cancel = vi.fn()
    const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(Buffer.alloc(100))
    const body = () => new ReadableStream({ pull, cancel })
    const url = await serveApp(
      () => failing,
      timeout(20),
      (c) => c.body(body()),
    )
    const answer = await fetch(url)
    fail(new Error('the store is away'))
    expect([answer.status, await answer.text()]).toEqual([504, 'the app failed'])
    await expect.poll(() => cancel).toHaveBeenCalledOnce()
  })
})
