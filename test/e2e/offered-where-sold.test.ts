import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GatewayOptions } from '../../src/config/options.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'

const BASE = 'https://shop.example'
const plans = [{ planId: 'basic', unitAmount: '$1.00' }]
const routes = [
  { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' },
  { routeId: 'cities', method: 'GET', path: '/cities', free: true },
] as const
const fetchResource = () => ({ status: 200, body: {} })

interface Skill {
  id: string
  description: string
  inputSchema: { required: string[] }
  workflow: string[]
}

/** A gateway without a chain: nothing is bought here, only offered. */
async function open(options: Partial<GatewayOptions>): Promise<Gateway> {
  return createGateway({
    walletAddress: '0x8ba1f109551bD432803012645Ac136ddd64DBA72',
    baseUrl: BASE,
    rpcUrl: 'http://127.0.0.1:9',
    store: 'memory',
    mcp: true,
    onAlert: () => {},
    ...options,
  })
}
const secret = { tokenSecret: 'a shared secret of more than thirty-two bytes' }

describe.each<{
  sells: string
  options: Partial<GatewayOptions>
  access: string
  bought: string[]
  results: string
  tools: string[]
}>([
  {
    sells: 'plans and embedded routes',
    options: { plans, routes, ...secret },
    access: 'planId is missing. GET',
    bought: ['planId'],
    results: 'receive the AccessGrant.',
    tools: ['discover_plans', 'request_access'],
  },
  {
    sells: 'embedded routes alone',
    options: { routes },
    access: "Nothing is sold at this address: call the seller's routes directly. GET",
    bought: [],
    results: '',
    tools: ['discover_plans'],
  },
  {
    sells: 'served routes alone',
    options: { routes, fetchResource, mcp: { routes: true } },
    access: 'routeId and resource are missing. GET',
    bought: ['routeId'],
    results: 'receive the ResourceResponse.',
    tools: ['discover_plans', 'weather'],
  },
  {
    sells: 'plans and served routes',
    options: { plans, routes, fetchResource, ...secret },
    access: 'planId (or routeId and resource) is missing. GET',
    bought: ['planId', 'routeId'],
    results: 'receive the AccessGrant, or for a call the ResourceResponse.',
    tools: ['discover_plans', 'request_access'],
  },
])('a gateway that sells $sells', ({ options, access, bought, results, tools }) => {
  let gateway: Gateway
  beforeAll(async () => {
    gateway = await open(options)
  })
  afterAll(() => gateway.close())

  const get = async (path: string) => (await gateway.fetch(new Request(BASE + path))).json()
  const post = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const request = new Request(BASE + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await gateway.fetch(request)).json()
  }

  test('says in its 400 what can be named there', async () => {
    expect(await post('/x402/access', {})).toEqual({ error: expect.stringContaining(access) })
  })

  test('offers on its agent card what can be bought by A2A, and what that brings', async () => {
    const { skills } = (await get('/.well-known/agent.json')) as { skills: Skill[] }
    const [discover, request] = skills
    expect(discover).toMatchObject({ id: 'discover-plans' })
    expect(discover!.description).toContain('GET /discover')
    expect(request?.id).toBe(bought.length > 0 ? 'request-access' : undefined)
    const words = JSON.stringify(request ?? '')
    for (const name of ['planId', 'routeId']) expect(words.includes(name), name).toBe(bought.includes(name))
    if (request) expect(request.workflow[3]).toContain(results)
  })

  test('lists in the A2A catalog what can be bought there', async () => {
    const message = {
      kind: 'message',
      role: 'user',
      messageId: 'm',
      parts: [{ kind: 'text', text: 'Hello' }],
    }
    const asked = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }
    const answer = (await post('/a2a', asked)) as {
      result: { parts: Array<{ data?: unknown; text?: string }> }
    }
    const [told, catalog] = answer.result.parts
    expect(catalog!.data).toMatchObject({
      plans: bought.includes('planId') ? [{ planId: 'basic' }] : [],
      routes: bought.includes('routeId') ? [{ routeId: 'weather' }] : [],
    })
    for (const name of ['planId', 'routeId']) expect(told!.text!.includes(name)).toBe(bought.includes(name))
  })

  test('has the MCP tools that sell something', async () => {
    const answer = await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const { result } = answer as { result: { tools: Array<{ name: string }> } }
    expect(result.tools.map(({ name }) => name)).toEqual(tools)
  })

  test('describes POST /x402/access in its OpenAPI document only where it sells', async () => {
    const { paths } = (await get('/openapi.json')) as { paths: object }
    expect(Object.keys(paths).includes('/x402/access')).toBe(bought.length > 0)
  })

  test('lists everything at /discover: that is where routes are found', async () => {
    const found = (await get('/discover')) as { routes: unknown[] }
    expect(found.routes).toHaveLength(2)
  })
})

test('the 402 of an embedded route carries schemas: of the call, and of an answer that is the seller’s own', async () => {
  const gateway = await open({ routes })
  const charged = await gateway.chargeRoute(new Request(`${BASE}/weather/paris`), 'weather')
  if (charged.kind !== 'respond') throw new Error('expected terms')
  const { extensions } = (await charged.response.json()) as {
    extensions: { svc: { inputSchema: object; outputSchema: object; description: string } }
  }
  expect(charged.response.status).toBe(402)
  expect(extensions.svc).toMatchObject({
    inputSchema: { type: 'object', required: ['routeId', 'resource'] },
    outputSchema: { description: expect.stringContaining("seller's own answer") },
    description: expect.stringContaining("The answer is the seller's own."),
  })
  await gateway.close()
})
