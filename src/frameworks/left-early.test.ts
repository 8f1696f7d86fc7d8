import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { type ClientRequest, get, type ServerResponse } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import express, { type RequestHandler } from 'express'
import createFastify, { type FastifyInstance } from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { CALL_KINDS, sampleCalls, settledCalls } from '../../test/transports/sample-calls.ts'
import { payPerRequest } from './express.ts'
import { paystile } from './fastify.ts'

const express4 = createRequire(import.meta.url)('express4') as typeof express
const OWN_FILE = fileURLToPath(import.meta.url)
const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** The response as soon as a request has come, and whether its client is gone. */
interface Seen {
  response?: ServerResponse
}

const VERSIONS = [
  ['5', express],
  ['4', express4],
] as const

async function serveExpress(
  make: typeof express,
  gateway: Parameters<typeof payPerRequest>[0],
  handler: RequestHandler,
) {
  const seen: Seen = {}
  const app = make().set('env', 'test')
  app.use((_req, res, next) => {
    seen.response = res
    next()
  })
  app.get('/weather', payPerRequest(gateway, 'weather'), handler)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`, seen }
}

/** Asks, and leaves once the response is there and `isTime`. */
async function askAndLeave(url: string, seen: Seen, isTime: () => boolean): Promise<void> {
  const request: ClientRequest = get(url).on('error', () => {})
  await expect.poll(() => seen.response !== undefined && isTime()).toBe(true)
  request.destroy()
  await expect.poll(() => seen.response?.closed).toBe(true)
}

const ANSWERS: Array<[string, RequestHandler]> = [
  ['pipes a stream', (_req, res) => void Readable.from(['a', 'b']).pipe(res)],
  ['runs a pipeline', (_req, res) => void pipeline(Readable.from(['a', 'b']), res, () => {})],
  ['sends a file', (_req, res) => res.sendFile(OWN_FILE)],
]

describe.each(CALL_KINDS)('of a %s call whose client left before it was charged', (kind) => {
  /** A metered call whose answer never came whole costs nothing. */
  const expected = kind === 'metered' ? [[200], [500]] : [[200]]

  describe.each(VERSIONS)('Express %s hears the end when its handler', (_version, make) => {
    test.each(ANSWERS)('%s', async (_how, handler) => {
      const { gateway, finished, settle, asked } = sampleCalls(kind)
      const { url, seen } = await serveExpress(make, gateway, handler)
      await askAndLeave(url, seen, () => asked() === 1)
      settle()
      await expect.poll(() => finished).toHaveLength(1)
      expect(expected).toContainEqual(finished)
    })

    test('pipes a file that is not there: nothing is earned by that', async () => {
      const { gateway, finished, settle, asked } = sampleCalls(kind)
      const { url, seen } = await serveExpress(make, gateway, (_req, res) => {
        createReadStream('/no/such/file')
          .on('error', () => {})
          .pipe(res)
      })
      await askAndLeave(url, seen, () => asked() === 1)
      settle()
      await expect.poll(() => finished).toEqual([500])
    })
  })

  test.each([1, 2])('Fastify hears the end when its handler gives a stream (HTTP/%i)', async (version) => {
    const { gateway, finished, settle, asked } = sampleCalls(kind)
    const seen: Seen = {}
    const app = version === 2 ? overHttp2() : createFastify()
    cleanups.push(() => app.close())
    await app.register(paystile, { gateway, prefix: '/pay' })
    app.addHook('onRequest', async (_request, reply) => {
      seen.response = reply.raw as ServerResponse
    })
    app.get('/weather', { preHandler: app.payPerRequest('weather') }, async () => Readable.from(['a', 'b']))
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    if (version === 1) await askAndLeave(`${url}/weather`, seen, () => asked() === 1)
    else await leaveHttp2(url, () => asked() === 1, seen)
    settle()
    await expect.poll(() => finished).toHaveLength(1)
    expect(expected).toContainEqual(finished)
  })
})

const overHttp2 = () => createFastify({ http2: true }) as unknown as FastifyInstance

/** Gives a request over HTTP/2 up once `isTime`, and waits until the server has heard. */
async function leaveHttp2(url: string, isTime: () => boolean, seen: Seen): Promise<void> {
  const client = connectHttp2(url)
  cleanups.push(() => client.destroy())
  const stream = client.request({ ':path': '/weather' }).on('error', () => {})
  await expect.poll(() => seen.response !== undefined && isTime()).toBe(true)
  const closed = once(seen.response!, 'close')
  stream.close(8)
  await closed
}

test.each(CALL_KINDS)(
  'in Express a client that leaves before the first byte of a stream ends a %s call',
  async (kind) => {
    const { gateway, finished } = settledCalls(kind)
    let isPiped = false
    const { url, seen } = await serveExpress(express, gateway, (_req, res) => {
      new Readable({ read() {} }).pipe(res)
      isPiped = true
    })
    await askAndLeave(url, seen, () => isPiped)
    await expect.poll(() => finished).toEqual([kind === 'metered' ? 500 : 200])
  },
)

test('over HTTP/2 nothing looks after a call any more whose end was told', async () => {
  const { gateway, finished } = settledCalls('paid')
  const seen: Seen = {}
  const app = overHttp2()
  cleanups.push(() => app.close())
  await app.register(paystile, { gateway, prefix: '/pay' })
  let release: () => void = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  app.get('/weather', { preHandler: app.payPerRequest('weather') }, async (_request, reply) => {
    seen.response = reply.raw as ServerResponse
    await gate
    return 'sun'
  })
  await leaveHttp2(await app.listen({ port: 0, host: '127.0.0.1' }), () => true, seen)
  release()
  await expect.poll(() => finished).toEqual([200])
  // With its timer it leaves its listeners.
  await expect.poll(() => seen.response?.listenerCount('finish')).toBe(0)
})
