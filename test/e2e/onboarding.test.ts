import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AccessGrant, ResourceResponse } from '../../src/protocol/access.ts'
import { type Agent, sendAgent } from './onboarding-agent.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { PRICE } from './world.ts'

const DOCUMENTS = {
  '/llms.txt': 'text/plain; charset=utf-8',
  '/skills.md': 'text/markdown; charset=utf-8',
  '/openapi.json': 'application/json',
  '/.well-known/x402': 'application/json',
  '/.well-known/x402.json': 'application/json',
  '/robots.txt': 'text/plain; charset=utf-8',
  '/favicon.ico': 'image/svg+xml',
}

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld()
})
afterAll(() => shop.stop())

describe('an agent that is given only the base URL', () => {
  let agent: Agent
  afterAll(() => agent?.leave())

  test('follows skills.md to the letter, owns a grant that opens the resource, and buys a call', async () => {
    const { world, backend } = shop
    const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
    agent = await sendAgent(world.baseUrl, buyer.privateKey)
    expect(agent.commands).toEqual([
      'npm install viem',
      'node buy-plan.mjs',
      'node call-route.mjs YOUR_CITY',
      'npm install @x402/fetch @x402/evm viem',
      'node official.mjs',
    ])
    const [install, buyPlan, callRoute] = agent.commands as [string, string, string]
    await agent.run(install)

    const bought = await agent.run(buyPlan, { REQUEST_ID: 'agent-1' })
    expect(bought).toMatchObject({ code: 0, out: expect.stringMatching(/^200 .*"sky":"clear"/) })
    const grant = JSON.parse(await agent.file('grant.json')) as AccessGrant
    expect(grant).toMatchObject({ type: 'AccessGrant', planId: 'basic', requestId: 'agent-1' })
    expect(await world.gateway.verifyBearer(`Bearer ${grant.accessToken}`)).toMatchObject({ ok: true })
    expect(backend.seen.at(-1)?.url).toBe('/resource/default')

    // Again, as after a crash: the same grant for the same payment.
    expect(await agent.run(buyPlan, { REQUEST_ID: 'agent-1' })).toMatchObject({ code: 0 })
    expect(JSON.parse(await agent.file('grant.json')).txHash).toBe(grant.txHash)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })

    const called = await agent.run(callRoute.replace('YOUR_CITY', 'berlin'))
    expect(called).toMatchObject({ code: 0, out: expect.stringMatching(/^200 /) })
    const answer = JSON.parse(await agent.file('answer.txt')) as ResourceResponse
    expect(answer).toMatchObject({ routeId: 'weather', resource: { status: 200, body: { sky: 'clear' } } })
    expect(backend.seen.at(-1)?.url).toBe('/weather/berlin')
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE, CALL_PRICE], refunded: [] })
  })

  test('buys by the official client with the snippet of skills.md, pays once, and the snippet has no type error', async () => {
    const { world } = shop
    const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
    const other = await sendAgent(world.baseUrl, buyer.privateKey)
    try {
      const [install, buy] = other.commands.slice(-2) as [string, string]
      await other.run(install)
      for (let turn = 0; turn < 2; turn++) {
        const bought = await other.run(buy, { REQUEST_ID: 'official-1' })
        expect(bought).toMatchObject({ code: 0, out: expect.stringMatching(/^200 .*"AccessGrant"/) })
      }
      expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
      expect(await other.typeErrors('official.mjs')).toBe('')
    } finally {
      await other.leave()
    }
  })

  test('is not charged by a walk-through with an empty wallet, and can start again', async () => {
    const { world } = shop
    const poor = await world.chain.newBuyer()
    const other = await sendAgent(world.baseUrl, poor.privateKey)
    try {
      const [install, buyPlan] = other.commands as [string, string]
      await other.run(install)
      const failed = await other.run(buyPlan, { REQUEST_ID: 'agent-2' })
      expect(failed).toMatchObject({ code: 1, err: expect.stringContaining('PAYMENT_FAILED') })
      await world.chain.mint(poor.address, PRICE)
      expect(await other.run(buyPlan, { REQUEST_ID: 'agent-2' })).toMatchObject({ code: 0 })
      expect(await world.flows(poor)).toEqual({ paid: [PRICE], refunded: [] })
    } finally {
      await other.leave()
    }
  })
})

describe('the documents', () => {
  const get = (path: string) => fetch(shop.world.baseUrl + path)

  test('are served with their types, to any origin, cacheable', async () => {
    for (const [path, type] of Object.entries(DOCUMENTS)) {
      const { status, headers } = await get(path)
      expect({ path, status, type: headers.get('content-type') }).toEqual({ path, status: 200, type })
      expect(headers.get('cache-control')).toBe('public, max-age=60')
      expect(headers.get('access-control-allow-origin')).toBe('*')
    }
  })

  test('every endpoint and route that the gateway answers is in openapi.json', async () => {
    const { paths } = (await (await get('/openapi.json')).json()) as { paths: Record<string, object> }
    const { endpoints } = (await (await get('/nowhere')).json()) as { endpoints: string[] }
    const described = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    )
    expect(described).toEqual(expect.arrayContaining(endpoints))
  })

  test('what x402 names as a resource answers 402 with the terms that it names', async () => {
    const { items } = (await (await get('/.well-known/x402')).json()) as {
      items: Array<{
        resource: { url: string }
        accepts: Array<Record<string, unknown>>
        input: { method: string; body?: unknown }
      }>
    }
    expect(items).toHaveLength(4)
    for (const { resource, accepts, input } of items) {
      const { body, method } = input
      const response = await fetch(resource.url, {
        method,
        ...(body !== undefined && {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        }),
      })
      expect(response.status).toBe(402)
      const required = (await response.json()) as { accepts: Array<Record<string, unknown>> }
      expect(required.accepts[0]).toMatchObject(accepts[0]!)
    }
  })

  test('robots.txt is never answered through a framework: it is the word of the host', async () => {
    const { gateway, baseUrl } = shop.world
    expect((await gateway.fetch(new Request(`${baseUrl}/robots.txt`))).status).toBe(200)
    expect(await gateway.handle(new Request(`${baseUrl}/robots.txt?a`))).toBeUndefined()
    expect((await gateway.handle(new Request(`${baseUrl}/llms.txt`)))?.status).toBe(200)
  })

  test('switched off they are 404 and nowhere mentioned', async () => {
    await shop.world.restart({ documents: false })
    for (const path of Object.keys(DOCUMENTS)) {
      const response = await get(path)
      expect(response.status).toBe(404)
      const { endpoints } = (await response.json()) as { endpoints: string[] }
      expect(endpoints.join()).not.toMatch(/llms|skills|openapi|robots|favicon|well-known\/x402/)
    }
  })
})
