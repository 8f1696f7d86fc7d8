import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import express, { type RequestHandler } from 'express'
import createFastify from 'fastify'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { CapturedAnswer } from '../transports/http/charged.ts'
import type { EmbeddedGateway } from './embedding.ts'
import { payPerRequest } from './express.ts'
import { paystile } from './fastify.ts'

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

type Kind = 'paid' | 'prepaid' | 'metered'

/** What was told of the end of each call. */
function gatewayFor(kind: Kind) {
  const finished: number[] = []
  const payment = { routeId: 'weather', ...(kind === 'prepaid' && { credits: { planId: 'basic' } }) }
  const gateway = {
    discovery: { routes: [{ routeId: 'weather' }] },
    handle: async () => undefined,
    chargeRoute: async () =>
      kind === 'metered'
        ? {
            ...{ kind, payment, maxBytes: 1000, charge: () => {}, response: new Promise(() => {}) },
            finish: ({ status }: CapturedAnswer) => void finished.push(status),
          }
        : {
            ...{ kind: 'paid', payment, headers: {}, headersFor: () => ({}) },
            finish: async (status: number) => void finished.push(status),
          },
  } as unknown as EmbeddedGateway
  return { gateway, finished }
}

async function serveExpress(gateway: EmbeddedGateway, handler: RequestHandler): Promise<string> {
  const app = express().set('env', 'test')
  app.get('/weather', payPerRequest(gateway, 'weather'), handler)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`
}

const missing = () => createReadStream('/no/such/file')

describe.each<Kind>(['paid', 'prepaid', 'metered'])('a %s call', (kind) => {
  test('in Express of a file that is not there has failed, and does not wait', async () => {
    const { gateway, finished } = gatewayFor(kind)
    const url = await serveExpress(gateway, (_req, res) => void pipeline(missing(), res, () => {}))
    await expect(fetch(url)).rejects.toThrow()
    await expect.poll(() => finished).toEqual([500])
  })

  test('in Fastify, whose handler hijacked the reply, as well', async () => {
    const { gateway, finished } = gatewayFor(kind)
    const app = createFastify()
    cleanups.push(() => app.close())
    await app.register(paystile, { gateway, prefix: '/pay' })
    app.get('/weather', { preHandler: app.payPerRequest('weather') }, async (_request, reply) => {
      reply.hijack()
      pipeline(missing(), reply.raw, () => {})
    })
    await expect(fetch(`${await app.listen({ port: 0, host: '127.0.0.1' })}/weather`)).rejects.toThrow()
    await expect.poll(() => finished).toEqual([500])
  })

  test('whose client leaves is still decided by its handler', async () => {
    const { gateway, finished } = gatewayFor(kind)
    let end: () => void = () => {}
    const url = await serveExpress(gateway, (_req, res) => {
      end = () => res.send('sun')
    })
    const request = get(url).on('error', () => {})
    const before = end
    await expect.poll(() => end).not.toBe(before)
    request.destroy()
    await new Promise((turn) => setTimeout(turn, 600))
    expect(finished).toEqual([])
    end()
    await expect.poll(() => finished).toEqual([200])
  })

  test('whose handler destroys it with an error because the client left has failed', async () => {
    const { gateway, finished } = gatewayFor(kind)
    const begun = vi.fn()
    const url = await serveExpress(gateway, (req, res) => {
      req.on('aborted', () => res.destroy(new Error('nobody is there')))
      begun()
    })
    const request = get(url).on('error', () => {})
    await expect.poll(() => begun).toHaveBeenCalledOnce()
    request.destroy()
    await expect.poll(() => finished).toEqual([500])
  })
})

test('in Express an error of a stream that is handed to next is answered by the app', async () => {
  const { gateway, finished } = gatewayFor('paid')
  const url = await serveExpress(gateway, (_req, res, next) => void missing().on('error', next).pipe(res))
  expect((await fetch(url)).status).toBe(500)
  await expect.poll(() => finished).toEqual([500])
})
