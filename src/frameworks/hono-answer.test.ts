import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { serve } from '@hono/node-server'
import { type Context, type Handler, Hono, type MiddlewareHandler } from 'hono'
import { compress } from 'hono/compress'
import { cors } from 'hono/cors'
import { etag } from 'hono/etag'
import { timeout } from 'hono/timeout'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { CapturedAnswer } from '../transports/http/charged.ts'
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
  /** Every call is paid; what was told of its end is noted, and so is what reaches the app's error handler. */
  function appWith(handler: Handler, ...inFront: MiddlewareHandler[]) {
    const finished: number[] = []
    const errors: string[] = []
    const gateway = {
      discovery: { routes: [{ routeId: 'weather' }] },
      chargeRoute: async () => ({
        kind: 'paid',
        payment: { routeId: 'weather' },
        headers: { 'payment-response': 'receipt' },
        headersFor: (status: number) => ({
          'payment-response': 'receipt',
          'x-told': status === 200 ? 'earned' : 'goes back',
        }),
        finish: async (status: number) => void finished.push(status),
      }),
    } as unknown as EmbeddedGateway
    const app = new Hono()
    app.onError((error, c) => {
      errors.push(error.message)
      return c.text('the app failed', 'getResponse' in error ? 504 : 500)
    })
    for (const middleware of inFront) app.use(middleware)
    app.get('/weather', payPerRequest(gateway, 'weather'), handler)
    return { app, finished, errors }
  }

  async function urlOf(app: Hono): Promise<string> {
    const options = { fetch: app.fetch, port: 0, hostname: '127.0.0.1' }
    const server = serve(replacesGlobals ? options : { ...options, overrideGlobalObjects: false }) as Server
    await once(server, 'listening')
    cleanups.push(() => server.close().closeAllConnections())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`
  }

  const streamOf = (...pieces: unknown[]) => Readable.toWeb(Readable.from(pieces)) as ReadableStream

  const failing = () =>
    new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('gone')) })

  /** Reads the answer before it goes out, as a careless logger would. */
  async function readBefore(c: Context): Promise<Response> {
    const answer = c.json({ x: 1 })
    await answer.text()
    return answer
  }

  function lockedAnswer(c: Context): Response {
    const answer = c.json({ x: 1 })
    answer.body?.getReader()
    return answer
  }

  const BROKEN: Array<[string, (c: Context) => unknown]> = [
    ['nothing at all', (c) => void c.json({ x: 1 })],
    ['an object that is no response', () => ({ ok: true })],
    ['the answer of another HTTP client', () => ({ status: 200, headers: {}, data: { x: 1 } })],
    ['that of an HTTP/2 client', () => ({ status: 200, headers: { ':status': '200' }, data: { x: 1 } })],
    ['an object with odd headers', () => ({ status: 200, headers: 5 })],
    ['Response.error()', () => Response.error()],
    ['a response whose body was read', readBefore],
    ['a response whose body somebody else reads', lockedAnswer],
    ['a stream that fails before its first byte', (c) => c.body(failing(), 200, { 'content-length': '9' })],
    ['a stream of what is neither bytes nor text', (c) => c.body(streamOf({ a: 1 }))],
    [
      'a file that is not there',
      (c) => c.body(Readable.toWeb(createReadStream('/no/file')) as ReadableStream),
    ],
  ]

  /** Hono wraps each handler of a sub-app with an error handler of its own, and makes an empty 200 of nothing. */
  const asSubApp = (app: Hono) => new Hono().route('/', app)

  describe.each<[string, MiddlewareHandler[], ((app: Hono) => Hono)?]>([
    ['alone', []],
    ['behind cors', [cors({ origin: '*' })]],
    ['behind compress and etag', [compress({ threshold: 1 }), etag()]],
    ['in a sub-app with its own onError', [], asSubApp],
  ])('%s', (place, inFront, mounted = (app) => app) => {
    test.each(BROKEN)(
      'a handler that answers %s has delivered nothing, and its buyer is told',
      async (what, handler) => {
        const { app, finished, errors } = appWith(handler as Handler, ...inFront)
        const answer = await fetch(await urlOf(mounted(app)))
        expect([answer.status, await answer.text()]).toEqual([500, 'the app failed'])
        expect([answer.headers.get('payment-response'), answer.headers.get('x-told')]).toEqual([
          'receipt',
          'goes back',
        ])
        expect(finished).toEqual([500])
        expect(errors).toHaveLength(1)
        // Of a `Response.error()` the light Response cannot give up the headers that were set in front.
        if (place !== 'behind cors' || (replacesGlobals && what === 'Response.error()')) return
        expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      },
    )

    test('a stream goes out whole, with the status, headers and cookies of its answer', async () => {
      const { app, finished } = appWith(
        (c) => {
          c.header('set-cookie', 'a=1', { append: true })
          c.header('set-cookie', 'b=2', { append: true })
          const body = streamOf(...['one ', 'two ', 'three'].map((text) => Buffer.from(text)))
          return c.body(body, 200, { 'content-type': 'text/plain', 'x-own': '1' })
        },
        ...inFront,
      )
      const answer = await fetch(await urlOf(mounted(app)))
      expect([answer.status, await answer.text()]).toEqual([200, 'one two three'])
      expect([answer.headers.get('x-own'), answer.headers.get('x-told')]).toEqual(['1', 'earned'])
      expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
      expect(finished).toEqual([200])
    })
  })

  test('a short answer keeps its length, and one without a body stays without', async () => {
    const short = await fetch(await urlOf(appWith((c) => c.json({ x: 1 })).app))
    expect([short.headers.get('content-length'), await short.json()]).toEqual(['7', { x: 1 }])
    const none = await fetch(await urlOf(appWith((c) => c.body(null, 204)).app))
    expect([none.status, await none.text()]).toEqual([204, ''])
  })

  test.each<[string, number, Handler]>([
    ['an empty 200, which Hono also makes of nothing, is none', 500, (c) => c.body(null)],
    ['a 204 is one', 204, (c) => c.body(null, 204)],
    ['a 201 without a body is one', 201, (c) => c.body(null, 201)],
    ['an empty text is one', 200, (c) => c.body('')],
    ['a stream of text is one', 200, (c) => c.body(streamOf('one', 'two'))],
  ])('of deliveries: %s', async (_what, status, handler) => {
    const { app, finished } = appWith(handler)
    expect([(await fetch(await urlOf(app))).status, finished]).toEqual([status, [status]])
  })

  test('an error handler that answers nothing has delivered nothing either', async () => {
    const { app, finished } = appWith(() => Promise.reject(new Error('a bug')))
    app.onError((() => undefined) as never)
    expect([(await fetch(await urlOf(asSubApp(app)))).status, finished]).toEqual([500, [500]])
  })

  test('for a HEAD, whose body Hono drops, no stream is begun', async () => {
    let pulls = 0
    const pull = () => void pulls++
    const { app, finished } = appWith((c) => c.body(new ReadableStream({ pull }, { highWaterMark: 0 })))
    const { status, headers } = await fetch(await urlOf(app), { method: 'HEAD' })
    expect([status, headers.get('x-told'), finished, pulls]).toEqual([200, 'earned', [200], 0])
  })

  test('the head of an event stream does not wait for its first event', async () => {
    const silent = () => new ReadableStream<Uint8Array>()
    const { app, finished } = appWith((c) => c.body(silent(), 200, { 'content-type': 'text/event-stream' }))
    const answer = await fetch(await urlOf(app))
    expect([answer.status, finished]).toEqual([200, [200]])
    await answer.body?.cancel()
  })

  test('a client that leaves between the status and the first byte has had the answer, and its stream is ended', async () => {
    let cancelled = false
    let asked = false
    const { app, finished } = appWith((c) =>
      c.body(
        new ReadableStream<Uint8Array>({
          pull() {
            asked = true
            return new Promise(() => {})
          },
          cancel() {
            cancelled = true
          },
        }),
      ),
    )
    const leave = new AbortController()
    const lost = fetch(await urlOf(app), { signal: leave.signal }).catch(() => 'left')
    await expect.poll(() => asked).toBe(true)
    leave.abort()
    expect(await lost).toBe('left')
    await expect.poll(() => finished).toEqual([200])
    await expect.poll(() => cancelled).toBe(true)
  })

  test.each<[string, (c: Context) => unknown]>([
    ['answers', (c) => c.json({ x: 1 })],
    ['streams', (c) => c.body(Readable.toWeb(Readable.from([Buffer.from('x')])) as ReadableStream)],
    ['throws', () => Promise.reject(new Error('a bug'))],
  ])(
    'an answer that comes after a time limit in front of it is no delivery: the handler %s',
    async (_how, work) => {
      let open: () => void = () => {}
      const gate = new Promise<void>((resolve) => {
        open = resolve
      })
      const handler = async (c: Context) => {
        await gate
        return work(c)
      }
      const { app, finished, errors } = appWith(handler as Handler, timeout(20))
      const answer = await fetch(await urlOf(app))
      expect([answer.status, await answer.text()]).toEqual([504, 'the app failed'])
      open()
      await expect.poll(() => finished).toHaveLength(1)
      expect(finished[0]).toBeGreaterThanOrEqual(500)
      expect(errors).toEqual(['Gateway Timeout', ...(_how === 'throws' ? ['a bug'] : [])])
    },
  )

  test('so is one that comes while the answer of the time limit is still being sent', async () => {
    let open: () => void = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const { app, finished, errors } = appWith(async (c) => {
      await gate
      return c.json({ x: 1 })
    }, timeout(20))
    const sent = (await app.request('/weather')).body?.getReader()
    open()
    await expect.poll(() => finished).toEqual([500])
    expect(errors).toEqual(['Gateway Timeout'])
    expect(Buffer.from((await sent?.read())?.value ?? []).toString()).toBe('the app failed')
  })

  test('the first byte of a stream that comes after a time limit in front of it is no delivery', async () => {
    let feed: () => void = () => {}
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        feed = () => controller.enqueue(Buffer.from('late'))
      },
    })
    const { app, finished, errors } = appWith((c) => c.body(body), timeout(20))
    expect((await fetch(await urlOf(app))).status).toBe(504)
    feed()
    await expect.poll(() => finished).toEqual([500])
    expect(errors).toEqual(['Gateway Timeout'])
  })

  test('a stream that is silent when a time limit in front of it strikes is ended, and is no delivery', async () => {
    const cancel = vi.fn()
    const { app, finished, errors } = appWith((c) => c.body(new ReadableStream({ cancel })), timeout(20))
    expect((await fetch(await urlOf(app))).status).toBe(504)
    await expect.poll(() => finished).toEqual([500])
    expect(cancel).toHaveBeenCalledOnce()
    expect(errors).toEqual(['Gateway Timeout'])
  })

  describe('on a metered route', () => {
    function meteredApp(handler: Handler) {
      const answers: CapturedAnswer[] = []
      let settle: (response: Response) => void = () => {}
      const response = new Promise<Response>((resolve) => {
        settle = resolve
      })
      const gateway = {
        discovery: { routes: [{ routeId: 'chat' }] },
        chargeRoute: async () => ({
          ...{ kind: 'metered', payment: { routeId: 'chat' }, maxBytes: 1000, charge: () => {}, response },
          finish(answer: CapturedAnswer) {
            answers.push(answer)
            const headers = { 'x-svc-code': 'CALL_FAILED' }
            setImmediate(() => settle(new Response(null, { status: answer.status, headers })))
            return response
          },
        }),
      } as unknown as EmbeddedGateway
      const app = new Hono().get('/chat', payPerRequest(gateway, 'chat'), handler)
      return { app, answers }
    }

    test('a handler that answers nothing has failed, and its buyer is told', async () => {
      const { app, answers } = meteredApp((async (c: Context) => void c.json({ x: 1 })) as unknown as Handler)
      const answer = await app.request('/chat')
      expect([answer.status, answer.headers.get('x-svc-code')]).toEqual([500, 'CALL_FAILED'])
      expect(answers).toEqual([{ status: 500, headers: {}, body: null }])
    })

    test('so has one that answers nothing in a sub-app with its own onError', async () => {
      const { app, answers } = meteredApp((() => {}) as unknown as Handler)
      app.onError((_error, c) => c.text('the app failed', 500))
      expect((await asSubApp(app).request('/chat')).headers.get('x-svc-code')).toBe('CALL_FAILED')
      expect(answers).toEqual([{ status: 500, headers: {}, body: null }])
    })

    test.each(BROKEN.slice(1))('a handler that answers %s has failed', async (_what, handler) => {
      const { app, answers } = meteredApp(handler as Handler)
      app.onError((_error, c) => c.text('the app failed', 500))
      const { status, headers } = await app.request('/chat')
      expect([status, headers.get('content-length')]).toEqual([500, null])
      expect(answers.map(({ status }) => status)).toEqual([500])
    })
  })
})
