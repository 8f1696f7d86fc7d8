import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Payload as A2aPayload, payloadFor, rawAgent, requiredOf } from '../e2e/a2a-agent.ts'
import { post, toolCall } from '../e2e/mcp-clients.ts'
import { ROUTES, startBackend, type TestBackend } from '../e2e/routes-world.ts'
import { PRICE, startWorld, type World } from '../e2e/world.ts'
import { type CountingRpc, startCountingRpc } from './counting-rpc.ts'
import { headerOf, signedPayload } from './forge.ts'

const PER_MINUTE = 20
const PER_PAYER = 10
const FLOOD = 100
/** Calls of the node that one honest look at a payment may cost. */
const CALLS_PER_LOOK = 6

let world: World
let rpc: CountingRpc
let backend: TestBackend
beforeAll(async () => {
  backend = await startBackend()
  world = await startWorld({
    store: 'embedded',
    options: { mcp: true, routes: ROUTES, proxyTo: { baseUrl: backend.url }, settleWaitSeconds: 5 },
  })
  rpc = await startCountingRpc(world.chain.rpcUrl)
})
afterAll(async () => {
  await world.stop()
  await rpc.stop()
  await backend.stop()
})

const times = <T>(count: number, ask: (turn: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, turn) => ask(turn)))

describe('where addresses are not limited', () => {
  beforeEach(() =>
    world.restart({ rpcUrl: rpc.url, rateLimitPerMinute: 0, payerFailuresPerMinute: PER_PAYER }),
  )

  test('attack 41: a flood of /ready costs the node a handful of calls', async () => {
    const ask = () => fetch(`${world.baseUrl}/ready`).then(({ status }) => status)
    await ask()
    const began = performance.now()
    const calls = await rpc.callsOf(async () => {
      expect(new Set(await times(5 * FLOOD, ask))).toEqual(new Set([200]))
    })
    // An answer is good for three seconds, and a busy machine takes longer than that for the flood.
    const answers = 1 + Math.ceil((performance.now() - began) / 3000)
    expect(calls).toBeLessThanOrEqual(5 * answers)
  })

  test('attack 41: a payer may show fresh signatures for what is delivered a few times a minute, not more', async () => {
    const payer = await world.chain.newBuyer({ micro: PRICE })
    const body = { planId: 'basic', requestId: 'replayed' }
    const { accepts } = await world.terms(body)
    expect(await world.pay(await world.sign(payer, accepts[0]!), body)).toMatchObject({ status: 200 })
    const fresh = await times(FLOOD, () => world.sign(payer, accepts[0]!))
    const statuses: number[] = []
    const calls = await rpc.callsOf(async () => {
      for (const answer of await times(FLOOD, (turn) => world.pay(fresh[turn]!, body)))
        statuses.push(answer.status)
    })
    expect(statuses.filter((status) => status === 200)).toHaveLength(PER_PAYER)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    expect(calls).toBeLessThanOrEqual(PER_PAYER * CALLS_PER_LOOK)
    expect(await world.flows(payer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})

describe('where an address has so many payments a minute', () => {
  beforeEach(() => world.restart({ rpcUrl: rpc.url, rateLimitPerMinute: PER_MINUTE }))

  test('attack 41: concurrent forged payments do not exceed the limit', async () => {
    const attacker = await world.chain.newBuyer()
    const { accepts } = await world.terms()
    const forged = await times(FLOOD, async () => {
      const from = (await world.chain.newBuyer()).address
      return headerOf(await signedPayload(attacker, accepts[0]!, { from }))
    })
    const calls = await rpc.callsOf(async () => {
      const answers = await times(FLOOD, (turn) => world.pay(forged[turn]!))
      expect(answers.filter(({ status }) => status !== 429)).toHaveLength(PER_MINUTE)
    })
    expect(calls).toBeLessThanOrEqual(PER_MINUTE * 2)
  })

  test('attack 41: the same delivered payload, sent again and again, is limited', async () => {
    const payer = await world.chain.newBuyer({ micro: PRICE })
    const { accepts } = await world.terms()
    const header = await world.sign(payer, accepts[0]!)
    expect(await world.pay(header)).toMatchObject({ status: 200 })
    const answers = await times(FLOOD, () => world.pay(header))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(PER_MINUTE)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(FLOOD - PER_MINUTE)
  })

  test('attack 41: payloads that come to nothing before the engine sees them are limited, over A2A and MCP', async () => {
    const payer = await world.chain.newBuyer()
    const agent = rawAgent(`${world.baseUrl}/a2a`)
    const resource = { method: 'POST', path: '/report', body: { a: 1 } }
    const { result: task } = await agent.ask({ routeId: 'report', resource })
    const payload = await payloadFor(payer, requiredOf(task))
    const floods: Record<string, (payment: A2aPayload) => Promise<number>> = {
      'an A2A payload without the body of its call': async (payment) => (await agent.pay(payment)).httpStatus,
      'an A2A payload beside a data part of no known type': async (payment) => {
        const parts = [{ kind: 'data', data: { type: 'Nonsense' } }]
        return (await agent.pay(payment, { parts })).httpStatus
      },
      'MCP arguments that are none': (payment) => mcp(toolCall('request_access', { plan: 1 }, meta(payment))),
      'a free MCP tool with a payment': (payment) => mcp(toolCall('discover_plans', {}, meta(payment))),
      'an MCP tool that is not there': (payment) => mcp(toolCall('nothing', {}, meta(payment))),
    }
    const mcp = async (body: unknown) => (await post(world.baseUrl, body)).status
    const meta = (payment: A2aPayload) => ({ 'x402/payment': payment })
    for (const [name, send] of Object.entries(floods)) {
      await world.restart({ rpcUrl: rpc.url, rateLimitPerMinute: PER_MINUTE })
      const calls = await rpc.callsOf(async () => {
        const statuses = await times(2 * PER_MINUTE, () => send(payload))
        expect(statuses.filter((status) => status === 429).length, name).toBe(PER_MINUTE)
      })
      // Not none: purchases of the tests before are followed until they are final.
      expect(calls, name).toBeLessThan(PER_MINUTE)
    }
  })

  test('attack 41: a header that is a payment, on a request for nothing, is limited', async () => {
    const payer = await world.chain.newBuyer()
    const { accepts } = await world.terms()
    const { accepted: _accepted, ...bare } = await signedPayload(payer, accepts[0]!)
    const answers = await times(2 * PER_MINUTE, () => world.pay(headerOf(bare)))
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(PER_MINUTE)
  })

  test('honest purchases, concurrent or one by one, do not use up the limit', async () => {
    const buyers = await times(PER_MINUTE - 5, () => world.chain.newBuyer({ micro: PRICE }))
    const first = await times(buyers.length, (turn) => world.buy(buyers[turn]!))
    expect(new Set(first.map(({ status }) => status))).toEqual(new Set([200]))
    const payer = await world.chain.newBuyer({ micro: 5n * PRICE })
    for (let turn = 0; turn < 5; turn++) expect(await world.buy(payer)).toMatchObject({ status: 200 })
  })
})
