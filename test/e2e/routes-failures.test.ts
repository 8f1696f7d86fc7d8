import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DevAccount } from '../../src/testing/index.ts'
import { CALL_PRICE, type RoutesWorld, type Seen, startRoutesWorld, sunny } from './routes-world.ts'
import { eventually, type Strategy } from './world.ts'

const MAX_BYTES = 5000
const text = { 'content-type': 'text/plain' }
const once = { paid: [CALL_PRICE], refunded: [] }
const refundedOnce = { paid: [CALL_PRICE], refunded: [CALL_PRICE] }

type Answering = (call: Seen, response: ServerResponse) => void

const FAILURES: Array<[string, Answering, object]> = [
  [
    'an error of its own',
    (_call, response) => response.writeHead(500, text).end('out of order'),
    { status: 500, body: 'out of order' },
  ],
  ['not-found', (_call, response) => response.writeHead(404, text).end('no such city'), { status: 404 }],
  [
    'a redirect',
    (_call, response) => response.writeHead(302, { location: 'https://evil.example/' }).end(),
    { status: 302, body: null },
  ],
  ['an answer too large', (_call, response) => response.end('x'.repeat(MAX_BYTES + 1)), { status: 502 }],
  ['silence', () => {}, { status: 504 }],
  ['a connection that breaks', (_call, response) => response.destroy(), { status: 502 }],
]

// One world for all: refunds wait for final blocks, and may wait together. Every test calls a city of its own.
describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])(
  'a backend that fails, settled by %s',
  (strategy) => {
    let routes: RoutesWorld
    // How it is settled makes no difference to a failure; one shows it.
    const failures = strategy === 'facilitator' ? FAILURES.slice(0, 1) : FAILURES
    const answers = new Map<string, Answering>()
    const refunded: DevAccount[] = []
    const seenOf = (target: string) => routes.backend.seen.filter(({ url }) => url === target)
    beforeAll(async () => {
      routes = await startRoutesWorld({
        strategy,
        store: 'embedded',
        options: { maxResourceBytes: MAX_BYTES, refundMinAgeSeconds: 6 },
      })
      routes.backend.answer = (call, response) => (answers.get(call.url) ?? sunny)(call, response)
    })
    afterAll(() => routes.stop())

    test.each(failures)(
      '%s: 200 with its status, PAID, tried again by a retry, then refunded once',
      async (name, answer, resource) => {
        const { world } = routes
        const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
        const requestId = name.replaceAll(' ', '-')
        const target = `/weather/${requestId}`
        answers.set(target, answer)
        const init = { headers: { 'idempotency-key': requestId } }
        const { header, required } = await routes.signFor(buyer, target, init)
        const first = await routes.call(target, init, header)
        const notice = {
          refund: { state: 'SCHEDULED', when: expect.any(String) },
          statusUrl: `${world.baseUrl}/x402/challenges/${required.challengeId}`,
        }
        expect(first).toMatchObject({
          status: 200,
          body: { type: 'ResourceResponse', requestId, resource, ...notice },
          receipt: { success: true },
        })
        expect(first.headers.get('x-svc-code')).toBe('DELIVERY_FAILED')
        expect(first.headers.get('x-svc-refund-when')).toBe(first.body.refund?.when)
        expect((await world.status(required.challengeId)).state).toBe('PAID')
        const retry = await routes.call(target, init, header)
        expect(retry).toMatchObject({ status: 200, body: { resource, ...notice } })
        expect(seenOf(target), 'a retry calls again').toHaveLength(2)
        expect(await world.flows(buyer), 'and charges nothing').toEqual(once)

        await world.until(required.challengeId, 'REFUNDED')
        expect(Date.now(), 'as it was told').toBeGreaterThanOrEqual(Date.parse(first.body.refund!.when))
        expect(await world.flows(buyer)).toEqual(refundedOnce)
        const late = await routes.call(target, init, header)
        expect(late).toMatchObject({
          status: 410,
          body: { code: 'CHALLENGE_REFUNDED', refund: { state: 'REFUNDED' } },
        })
        expect(seenOf(target)).toHaveLength(2)
        refunded.push(buyer)
      },
    )

    test('a retry that succeeds is a delivery: nothing is refunded, and nothing charged twice', async () => {
      const { world } = routes
      const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
      const target = '/weather/recovers'
      answers.set(target, (_call, response) => response.writeHead(503, text).end('in a moment'))
      const { header, required } = await routes.signFor(buyer, target)
      expect((await routes.call(target, {}, header)).body.resource?.status).toBe(503)
      answers.delete(target)
      const retry = await routes.call(target, {}, header)
      expect(retry.body.resource).toMatchObject({ status: 200, body: { sky: 'clear' } })
      expect([retry.body.refund, retry.headers.get('x-svc-refund')]).toEqual([undefined, null])
      // Past the time at which it would have been refunded.
      await new Promise((turn) => setTimeout(turn, 8000))
      expect((await world.status(required.challengeId)).state).toBe('DELIVERED')
      expect(await world.flows(buyer)).toEqual(once)
      expect((await routes.call(target, {}, header)).body).toEqual(retry.body)
      expect(seenOf(target)).toHaveLength(2)
    })

    test('20 requests at once with one payment call the backend once', async () => {
      const { world } = routes
      const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
      const target = '/weather/crowded'
      answers.set(target, (call, response) => setTimeout(() => sunny(call, response), 100))
      const { header } = await routes.signFor(buyer, target)
      const all = await Promise.all(Array.from({ length: 20 }, () => routes.call(target, {}, header)))
      expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
      expect(new Set(all.map(({ body }) => JSON.stringify(body))).size).toBe(1)
      expect(seenOf(target)).toHaveLength(1)
      expect(await world.flows(buyer)).toEqual(once)
    })

    test('a backend that hangs while the client leaves: refunded', async () => {
      const { world } = routes
      const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
      const target = '/weather/hangs'
      answers.set(target, () => {})
      const { header, required } = await routes.signFor(buyer, target)
      const leaving = new AbortController()
      const left = routes.call(target, { signal: leaving.signal }, header).catch(() => 'gone')
      await eventually(() => seenOf(target).length > 0)
      leaving.abort()
      expect(await left).toBe('gone')
      await world.until(required.challengeId, 'REFUNDED')
      expect(await world.flows(buyer)).toEqual(refundedOnce)
      refunded.push(buyer)
    })

    test.sequential('a new life of the gateway finds nothing left to pay back', async () => {
      const { world } = routes
      expect(refunded).toHaveLength(failures.length + 1)
      await world.restart()
      await world.chain.mine(5)
      const { buyers } = await (await world.ledger(...refunded)).changes()
      expect(new Set(buyers)).toEqual(new Set([0n]))
      for (const buyer of refunded) {
        expect(await world.flows(buyer)).toEqual(refundedOnce)
        expect(await world.chain.balanceOf(buyer.address)).toBe(CALL_PRICE)
      }
    })
  },
)

test.concurrent('a backend that is not there at all: 502, and the payment goes back', async () => {
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
    expect(await world.flows(buyer)).toEqual(refundedOnce)
    expect((await fetch(`${world.baseUrl}/cities`)).status, 'a free route').toBe(502)
  } finally {
    await routes.stop()
  }
})
