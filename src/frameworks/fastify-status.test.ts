import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import createFastify, { type FastifyInstance } from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import type { EmbeddedGateway } from './embedding.ts'
import { paystile } from './fastify.ts'

const cleanups: Array<() => unknown> = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** Every call is paid, or debited; what was told of its end is noted. */
async function appWith(credits: boolean, lost = 0) {
  const finished: number[] = []
  let failuresLeft = lost
  const gateway = {
    discovery: { routes: [{ routeId: 'weather', method: 'GET', path: '/weather', unitAmount: '$0.01' }] },
    handle: async () => undefined,
    chargeRoute: async () => ({
      kind: 'paid',
      payment: { payer: '0x2', ...(credits && { credits: { planId: 'basic', charged: 1, remaining: 9 } }) },
      headers: {},
      headersFor: (status: number) => ({ 'x-told': status === 200 ? 'earned' : 'goes back' }),
      async finish(status: number) {
        if (status === 200 && failuresLeft-- > 0) throw new Error('the store is away')
        finished.push(status)
      },
    }),
  } as unknown as EmbeddedGateway
  const app = createFastify()
  cleanups.push(() => app.close())
  await app.register(paystile, { gateway, prefix: '/pay' })
  return { app, finished, paid: { preHandler: app.payPerRequest('weather') } }
}

type Paid = { preHandler: ReturnType<FastifyInstance['payPerRequest']> }

/** Fastify takes all of these for a 200 at first. */
const CHANGED: Array<[string, number, (app: FastifyInstance, paid: Paid) => unknown]> = [
  [
    'a stream that fails before its first byte',
    500,
    (app, paid) => app.get('/weather', paid, async () => createReadStream('/no/such/file')),
  ],
  [
    'a web stream that fails before its first byte',
    500,
    (app, paid) =>
      app.get('/weather', paid, async () => {
        const failing = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
        return new Response(failing, { status: 200 })
      }),
  ],
  [
    'an object that is said to be text',
    500,
    (app, paid) =>
      app.get('/weather', paid, async (_request, reply) => reply.type('text/csv').send({ a: 1 })),
  ],
  [
    'a later hook that throws',
    500,
    (app, paid) => {
      app.addHook('onSend', async (_request, reply) => {
        if (reply.statusCode === 200) throw new Error('a bug')
      })
      app.get('/weather', paid, async () => 'sun')
    },
  ],
  [
    'a later hook that changes the status',
    304,
    (app, paid) => {
      app.addHook('onSend', async (_request, reply) => void reply.code(304))
      app.get('/weather', paid, async () => 'sun')
    },
  ],
]

describe.each([
  ['paid', false],
  ['prepaid', true],
])('of a %s call the status that is written counts', (_how, credits) => {
  test.each(CHANGED)('%s: %i', async (_name, status, serve) => {
    const { app, finished, paid } = await appWith(credits)
    serve(app, paid)
    const answer = await app.inject('/weather')
    expect([answer.statusCode, answer.headers['x-told']]).toEqual([status, 'goes back'])
    expect(finished).toEqual([status])
  })

  test('a client that leaves between the status and the first byte has had the answer', async () => {
    const { app, finished, paid } = await appWith(credits)
    const silent = new Readable({ read() {} })
    let sent = false
    app.addHook('onSend', async () => {
      sent = true
    })
    app.get('/weather', paid, async () => silent)
    await app.listen({ port: 0, host: '127.0.0.1' })
    const request = get(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/weather`)
    request.on('error', () => {})
    await expect.poll(() => sent).toBe(true)
    request.destroy()
    await once(silent, 'close')
    await expect.poll(() => finished).toEqual([200])
  })
})

test('a delivery that cannot be recorded does not go out, and its payment can be sent again at once', async () => {
  const { app, finished, paid } = await appWith(false, 1)
  app.get('/weather', paid, async () => 'sun')
  const answer = await app.inject('/weather')
  expect([answer.statusCode, answer.headers['x-svc-code']]).toEqual([503, 'SETTLEMENT_PENDING'])
  expect(answer.json().hint).toBe('send the same call again, with the same payment')
  expect(answer.body).not.toContain('sun')
  await expect.poll(() => finished).toEqual([503])
})
