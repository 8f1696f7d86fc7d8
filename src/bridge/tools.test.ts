import { expect, test } from 'vitest'
import { callArguments } from './call-arguments.ts'
import { gatewayTools } from './gateway-tools.ts'
import { nameTools } from './name-tools.ts'
import type { Seller } from './seller.ts'

const seller = (url: string, ...names: string[]): Seller => ({
  url,
  kind: 'MCP server',
  tools: names.map((name) => ({
    listing: { name, inputSchema: { type: 'object' } },
    purchaseOf: (args) => ({ kind: 'tool', url, tool: name, args }),
  })),
})

test('names that clash get the seller’s host, and what still clashes a number', () => {
  const sellers = [
    seller('https://a.example/mcp', 'search', 'spending', 'only'),
    seller('https://b.example/mcp', 'search', 'search', 'x'.repeat(64)),
    seller('https://c.example/mcp', 'x'.repeat(64)),
  ]
  const names = [...nameTools(sellers, ['spending']).keys()]
  expect(names.slice(0, 5)).toEqual([
    ...['a_example_search', 'a_example_spending', 'only', 'b_example_search', 'b_example_search_2'],
  ])
  expect(new Set(names).size).toBe(7)
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
})

test('arguments become one address, whatever they hold', () => {
  const { callOf } = callArguments({ method: 'GET', url: 'https://a.example/v1/:city/at/:day?key=1' })
  expect(callOf({ city: 'Zürich/../x', day: 3, query: { b: [1, 'ä'], a: true } })).toEqual({
    method: 'GET',
    url: 'https://a.example/v1/Z%C3%BCrich%2F..%2Fx/at/3?key=1&a=true&b=1&b=%C3%A4',
  })
  for (const args of [{}, { city: '', day: '1' }, { city: '..', day: '1' }])
    expect(callOf(args)).toBe('city is missing; it is part of the path.')
  const odd = callArguments({ method: 'GET', url: 'https://a.example/:%zz' })
  expect(odd.callOf({ '%zz': 'x' })).toMatchObject({ url: 'https://a.example/x' })
  expect(callOf({ city: 'a', day: 'b', body: 1 })).toBe(
    'There is no argument "body"; it takes city, day, query.',
  )
  expect(callOf({ city: 'a', day: 'b', query: 'x' })).toBe('query must be an object of names and values.')
})

test('the same body in another order is the same call, and a parameter named body keeps its name', () => {
  const { callOf, inputSchema } = callArguments({ method: 'POST', url: 'https://a.example/:body' })
  const bodies = [
    { a: 1, b: { c: 2, d: 3 } },
    { b: { d: 3, c: 2 }, a: 1 },
  ]
  const [one, other] = bodies.map((_body) => callOf({ body: 'x', _body }))
  expect(one).toEqual(other)
  expect(inputSchema.required).toEqual(['body'])
})

test('a gateway’s description says where embedded routes are, and what they take; another origin is not believed', () => {
  const route = { routeId: 'ask', method: 'POST', path: '/ask/:who', maxAmount: '$2.00', credits: 3 } as const
  const catalog = { agentName: 'A', plans: [], routes: [route] } as never
  const item = (server: string) => ({
    paths: {
      '/ask/{who}': {
        servers: [{ url: server }],
        post: {
          parameters: [{ in: 'query', name: 'deep', required: true, schema: { type: 'boolean' } }],
          requestBody: { content: { 'application/json': { schema: { type: 'object', title: 'Question' } } } },
        },
      },
    },
  })
  const [tool] = gatewayTools('https://a.example/pay', catalog, item('https://a.example/')).tools
  expect(tool!.purchaseOf({ who: 'me' })).toMatchObject({ url: 'https://a.example/ask/me' })
  expect(tool!.listing).toMatchObject({
    description: expect.stringContaining('a call costs at most $2.00, or 3 of the credits'),
    inputSchema: { properties: { query: { required: ['deep'] }, body: { title: 'Question' } } },
  })
  const [elsewhere] = gatewayTools('https://a.example/pay', catalog, item('https://evil.example')).tools
  expect(elsewhere!.purchaseOf({ who: 'me' })).toMatchObject({ url: 'https://a.example/pay/ask/me' })
})

test.each(['@evil.example/x', '.evil.example/x', ':8080/x', 'x', '//@evil.example/x', '/\\evil.example'])(
  'a route at %s leads to no other origin',
  (path) => {
    const catalog = { agentName: 'A', plans: [], routes: [{ routeId: 'ask', method: 'POST', path }] } as never
    const { tools, faults } = gatewayTools('https://a.example', catalog)
    const [call] = tools.map(({ purchaseOf }) => purchaseOf({}) as { url: string })
    if (call) expect(new URL(call.url).origin).toBe('https://a.example')
    else expect(faults).toEqual(['its route ask is left out: its path leads away from https://a.example'])
    const server = { paths: { [path]: { servers: [{ url: 'https://me:pw@a.example' }] } } }
    for (const { purchaseOf } of gatewayTools('https://a.example', catalog, server).tools)
      expect(purchaseOf({})).not.toMatchObject({ url: expect.stringContaining('pw@') })
  },
)
