import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { dataOf, rawAgent } from '../e2e/a2a-agent.ts'
import { post, said, type ToolResult, toolCall } from '../e2e/mcp-clients.ts'
import { CALL_PRICE, ROUTES, type RoutesWorld, startRoutesWorld, sunny } from '../e2e/routes-world.ts'
import { sendsOf } from './forge.ts'

let routes: RoutesWorld
beforeAll(async () => {
  const open = { routeId: 'open', method: 'GET', path: '/open/:name', free: true } as const
  routes = await startRoutesWorld({ options: { routes: [...ROUTES, open], mcp: { routes: true } } })
})
afterAll(() => routes.stop())
beforeEach(() => {
  routes.backend.seen.length = 0
  routes.backend.answer = sunny
})

const OUTSIDE = [
  '/admin',
  '/weather',
  '/weather/paris/secret',
  '/weather/../admin',
  '/weather/%2e%2e/admin',
  '/weather/..',
  '/weather/%2e%2e',
  '/weather/a%2fb',
  '/weather/a%5Cb',
  '/weather/%252e%252e',
  '/weather/%00',
  '/weather/a%0d%0aHost:evil',
  'weather/paris',
  '',
]
const ELSEWHERE = [
  '.evil.com/weather/paris',
  '@evil.com/weather/paris',
  '//evil.com/weather/paris',
  '/\\evil.com/weather/paris',
  '\\\\evil.com\\weather\\paris',
  ':8081/weather/paris',
  'http://evil.com/weather/paris',
  'https:evil.com',
  '/weather/paris#@evil.com',
  '/weather/paris\r\nHost: evil.com',
  '/weather/\tparis',
  ' /weather/paris',
]

/** Servers cut parameters off, decode twice, trim, or fold what looks like a dot. */
const DOT_SEGMENTS = [
  '..;',
  '..;x=1',
  '.;',
  '%2e%2e;',
  '.%2E;',
  '..%3b',
  '%2e%2e%3B',
  '%252e%252e',
  '..%253b',
  '%25252e.',
  '..%2f',
  'x%2f..%2f',
  '..%5c',
  '..%20',
  '...',
  '..%3f',
  '%c0%ae%c0%ae',
  '%ef%bc%8e%ef%bc%8e',
  '..%ef%bc%8f',
  '%e2%80%a5',
  '.%e2%80%8b.',
]

describe('attack 26, 27: a path that is not the route’s', () => {
  test.each([...OUTSIDE, ...ELSEWHERE])('resource.path %j: 400 before charging', async (path) => {
    const { world, backend } = routes
    const sends = await sendsOf(world)
    const body = { routeId: 'weather', resource: { method: 'GET', path } }
    const unpaid = await world.access(body)
    expect(unpaid.status).toBe(400)
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header } = await routes.signFor(buyer, '/weather/paris')
    expect((await world.pay(header, body)).status).toBe(400)
    expect(backend.seen).toEqual([])
    expect(await sendsOf(world)).toBe(sends)
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test.each([
    ...OUTSIDE.filter((path) => path.startsWith('/')),
    ...ELSEWHERE.filter((path) => !/[\r\n\t ]/.test(path)),
  ])('request target %j, on the wire, with a payment: refused, not corrected', async (target) => {
    const { world, backend } = routes
    const sends = await sendsOf(world)
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header } = await routes.signFor(buyer, '/weather/paris')
    const answer = await routes.raw(
      `GET ${target} HTTP/1.1\r\nhost: evil.com\r\npayment-signature: ${header}\r\nconnection: close\r\n\r\n`,
    )
    const absolute = target.startsWith('http://')
    // Of an absolute target only the path counts: it is the very call that was paid, and goes to our backend.
    // The standalone server has a page of its own there, for the operator alone.
    const refused = world.apart && target === '/admin' ? /^HTTP\/1.1 401 / : /^HTTP\/1.1 (400|404) /
    expect(answer).toMatch(absolute ? /^HTTP\/1.1 200 / : refused)
    expect(backend.seen.map(({ url }) => url)).toEqual(absolute ? ['/weather/paris'] : [])
    if (!absolute) expect(await sendsOf(world)).toBe(sends)
  })

  test('a segment that a backend may read as "." or "..": 400 on every way in, and nothing reaches it', async () => {
    const { world, backend } = routes
    const sends = await sendsOf(world)
    const buyer = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header } = await routes.signFor(buyer, '/weather/paris')
    const agent = rawAgent(`${world.baseUrl}/a2a`)
    for (const segment of DOT_SEGMENTS) {
      for (const path of [`/weather/${segment}`, `/open/${segment}`, `/resource/${segment}`]) {
        const payment = `payment-signature: ${header}\r\n`
        for (const more of ['', payment, 'authorization: Bearer x\r\n']) {
          const head = `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}connection: close\r\n\r\n`
          expect(await routes.raw(head), `${path} ${more}`).toMatch(/^HTTP\/1.1 400 /)
        }
      }
      const asked = { routeId: 'weather', resource: { method: 'GET', path: `/weather/${segment}` } }
      for (const answer of [await world.access(asked), await world.pay(header, asked)]) {
        expect([answer.status, answer.headers.get('payment-required')], segment).toEqual([400, null])
      }
      const { result } = await agent.ask(asked)
      expect([result?.status.state, dataOf(result)?.code], segment).toEqual(['failed', 'ROUTE_NOT_FOUND'])
    }
    // Over MCP the gateway encodes: what the model says is the segment itself.
    for (const city of ['..;', '.;x', '..', '...', '．．', '.\u200b.', '..?']) {
      const answer = await post(world.baseUrl, toolCall('weather', { city }))
      const { result, error } = (await answer.json()) as { result?: ToolResult; error?: { code: number } }
      if (error) expect(error.code).toBe(-32602)
      else expect([result!.isError, said(result!).accepts], city).toEqual([true, undefined])
    }
    expect(backend.seen).toEqual([])
    expect(await sendsOf(world)).toBe(sends)
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test('a method that is not the route’s', async () => {
    const { world } = routes
    for (const method of ['POST', 'DELETE', 'HEAD', 'TRACE', 'GET /admin']) {
      const body = { routeId: 'weather', resource: { method, path: '/weather/paris' } }
      expect((await world.access(body)).status).toBe(400)
    }
  })
})
