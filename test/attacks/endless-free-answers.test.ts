import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveHttp } from '../../src/server/serve-http.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld, sunny } from '../e2e/routes-world.ts'
import { eventually } from '../e2e/world.ts'

/** Of one address at a time, and connections of each kind to the backend. */
const MAX_OPEN = 64
const CONNECTIONS = 128

let shop: RoutesWorld
const leaving = new AbortController()
beforeAll(async () => {
  shop = await startRoutesWorld({
    options: { rateLimitPerMinute: 600 },
    // Addresses of the test's own choice.
    serve: ({ fetch: handler }, port) => serveHttp({ handler, port, host: '127.0.0.1', trustProxy: true }),
  })
  shop.backend.answer = (call, response) => {
    if (call.url !== '/cities') return sunny(call, response)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n')
  }
})
afterAll(async () => {
  leaving.abort()
  await shop.stop()
})

const listen = (address: string) =>
  fetch(`${shop.world.baseUrl}/cities`, {
    headers: { 'x-forwarded-for': address },
    signal: leaving.signal,
  })

async function buy(): Promise<unknown> {
  const buyer = await shop.world.chain.newBuyer({ micro: CALL_PRICE })
  const { header } = await shop.signFor(buyer, '/weather/paris')
  return (await shop.call('/weather/paris', {}, header)).body.resource?.status
}

test('attack 65: listeners who never leave take no connection from paid calls, and one address has only so many', async () => {
  const greedy = await Promise.all(Array.from({ length: MAX_OPEN + 6 }, () => listen('203.0.113.1')))
  expect(greedy.filter(({ status }) => status === 200)).toHaveLength(MAX_OPEN)
  const refused = greedy.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(6)
  expect(refused[0]!.headers.get('x-svc-code')).toBe('RATE_LIMITED')
  // From many addresses they take every connection that free calls have.
  const others = Array.from({ length: CONNECTIONS }, (_, index) => listen(`198.51.100.${index % 4}`))
  const wait = Promise.allSettled(others)
  while (shop.backend.seen.filter(({ url }) => url === '/cities').length < CONNECTIONS)
    await new Promise(setImmediate)
  expect(await buy()).toBe(200)
  leaving.abort()
  await wait
  // Whoever leaves makes room for others.
  const headers = { 'x-forwarded-for': '203.0.113.1' }
  const again = () => fetch(`${shop.world.baseUrl}/cities`, { headers })
  expect(await eventually(async () => (await again()).ok)).toBe(true)
}, 60_000)
