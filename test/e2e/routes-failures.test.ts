import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { CALL_PRICE, type RoutesWorld, type Seen, startRoutesWorld, sunny } from './routes-world.ts'
import { eventually, type Strategy } from './world.ts'

const MAX_BYTES = 5000
const text = { 'content-type': 'text/plain' }

describe.each<Strategy>(['gas-wallet', 'facilitator'])('a backend that fails, settled by %s', (strategy) => {
  let routes: RoutesWorld
  beforeAll(async () => {
    routes = await startRoutesWorld({
      strategy,
      store: 'embedded',
      options: { maxResourceBytes: MAX_BYTES, refundMinAgeSeconds: 4 },
    })
  })
  afterAll(() => routes.stop())
  beforeEach(() => {
    routes.backend.seen.length = 0
    routes.backend.answer = sunny
  })

  const failures: Array<[string, (call: Seen, response: ServerResponse) => void, object]> = [
    [
      '500',
      (_call, response) => response.writeHead(500, text).end('out of order'),
      { status: 500, body: 'out of order' },
    ],
    ['404', (_call, response) => response.writeHead(404, text).end('no such city'), { status: 404 }],
    [
      'a redirect',
      (_call, response) => response.writeHead(302, { location: 'https://evil.example/' }).end(),
      { status: 302, body: null },
    ],
    ['an answer too large', (_call, response) => response.end('x'.repeat(MAX_BYTES + 1)), { status: 502 }],
    ['silence', () => {}, { status: 504 }],
    ['a connection that breaks', (_call, response) => response.destroy(), { status: 502 }],
  ]

  test.each(failures)(
    '%s: 200 with its status, PAID, tried again by a retry, then refunded once',
    async (name, answer, resource) => {
      const { world, backend } = routes
      const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
      const books = await world.ledger(buyer)
      backend.answer = answer
      const requestId = `fail-${strategy}-${name.replaceAll(' ', '-')}`
      const init = { headers: { 'idempotency-key': requestId } }
      const { header, required } = await routes.signFor(buyer, '/weather/paris', init)
      const first = await routes.call('/weather/paris', init, header)
      expect(first).toMatchObject({
        status: 200,
        body: { type: 'ResourceResponse', requestId, resource },
        receipt: { success: true },
      })
      expect((await world.status(required.challengeId)).state).toBe('PAID')
      const retry = await routes.call('/weather/paris', init, header)
      expect(retry).toMatchObject({ status: 200, body: { resource } })
      expect(backend.seen, 'a retry calls again').toHaveLength(2)
      expect(await books.changes(), 'and charges nothing').toEqual({
        seller: CALL_PRICE,
        buyers: [-CALL_PRICE],
      })

      await world.until(required.challengeId, 'REFUNDED')
      expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [CALL_PRICE] })
      const late = await routes.call('/weather/paris', init, header)
      expect(late).toMatchObject({
        status: 410,
        body: { code: 'CHALLENGE_REFUNDED', refund: { state: 'REFUNDED' } },
      })
      expect(backend.seen).toHaveLength(2)
      await world.restart()
      await world.chain.mine(3)
      expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [CALL_PRICE] })
      expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
    },
  )

  test('a retry that succeeds is a delivery: nothing is refunded, and nothing charged twice', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    backend.answer = (_call, response) => void response.writeHead(503, text).end('in a moment')
    const { header, required } = await routes.signFor(buyer, '/weather/paris')
    expect((await routes.call('/weather/paris', {}, header)).body.resource?.status).toBe(503)
    backend.answer = sunny
    const retry = await routes.call('/weather/paris', {}, header)
    expect(retry.body.resource).toMatchObject({ status: 200, body: { sky: 'clear' } })
    expect((await world.status(required.challengeId)).state).toBe('DELIVERED')
    // Past the time at which it would be refunded, with final blocks.
    await new Promise((turn) => setTimeout(turn, 5000))
    await world.chain.mine(5)
    await world.gateway.status(required.challengeId)
    expect((await world.status(required.challengeId)).state).toBe('DELIVERED')
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
    expect((await routes.call('/weather/paris', {}, header)).body).toEqual(retry.body)
    expect(backend.seen).toHaveLength(2)
  })

  test('20 retries at once call the backend one after the other, and never after a success', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    let running = 0
    let most = 0
    backend.answer = (call, response) => {
      most = Math.max(most, ++running)
      setTimeout(() => {
        running--
        sunny(call, response)
      }, 100)
    }
    const { header } = await routes.signFor(buyer, '/weather/paris')
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => routes.call('/weather/paris', {}, header)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect([most, backend.seen.length]).toEqual([1, 1])
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })

  test('a backend that hangs while the client leaves: refunded', async () => {
    const { world, backend } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    backend.answer = () => {}
    const { header, required } = await routes.signFor(buyer, '/weather/paris')
    const leaving = new AbortController()
    const left = routes.call('/weather/paris', { signal: leaving.signal }, header).catch(() => 'gone')
    await eventually(() => backend.seen.length > 0)
    leaving.abort()
    expect(await left).toBe('gone')
    await world.until(required.challengeId, 'REFUNDED')
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [CALL_PRICE] })
  })
})

test('a backend that is not there at all: 502, and the payment goes back', async () => {
  const gone = createServer()
  await new Promise<void>((listening) => gone.listen(0, '127.0.0.1', listening))
  const { port } = gone.address() as AddressInfo
  await new Promise((closed) => gone.close(closed))
  const routes = await startRoutesWorld({
    options: { proxyTo: { baseUrl: `http://127.0.0.1:${port}` }, refundMinAgeSeconds: 0 },
  })
  try {
    const { world } = routes
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header, required } = await routes.signFor(buyer, '/weather/paris')
    expect(await routes.call('/weather/paris', {}, header)).toMatchObject({
      status: 200,
      body: { resource: { status: 502, body: { error: 'the backend cannot be reached' } } },
    })
    await world.until(required.challengeId, 'REFUNDED')
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [CALL_PRICE] })
    const free = await fetch(`${world.baseUrl}/cities`)
    expect(free.status).toBe(502)
  } finally {
    await routes.stop()
  }
})
