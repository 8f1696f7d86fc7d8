import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { GatewayOptions } from '../../src/config/options.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { collect, dataOf, type Payload, payloadFor, rawAgent, requiredOf } from './a2a-agent.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'
import { eventually, PRICE, type World } from './world.ts'

let routes: RoutesWorld
let world: World
let agent: ReturnType<typeof rawAgent>
const OPTIONS: Partial<GatewayOptions> = {
  a2a: { streaming: true },
  agentName: 'Weather',
  refundMinAgeSeconds: 3600,
}
beforeAll(async () => {
  routes = await startRoutesWorld({ options: OPTIONS })
  world = routes.world
  agent = rawAgent(`${world.baseUrl}/a2a`)
})
afterAll(() => routes.stop())
beforeEach(() => {
  routes.backend.answer = sunny
})

let count = 0
async function opened(data: Record<string, unknown> = { planId: 'basic' }) {
  const { result } = await agent.ask({ requestId: `task-${++count}`, ...data })
  return { task: result!, id: result!.id, required: requiredOf(result)! }
}
const told = (state: string, status: string, error?: string) => ({
  result: {
    status: { state, message: { metadata: { 'x402.payment.status': status } } },
    metadata: { 'x402.payment.status': status, ...(error && { 'x402.payment.error': error }) },
  },
})
const buyerWith = (micro: bigint): Promise<DevAccount> => world.chain.newBuyer({ micro })

describe('the card', () => {
  test('has exactly the fields and skills of the specification, and interfaces for 1.0', async () => {
    type Skill = { description: string; inputSchema: { properties: object } }
    const response = await fetch(`${world.baseUrl}/.well-known/agent.json`)
    const card = (await response.json()) as { skills: [Skill, Skill] }
    const url = `${world.baseUrl}/x402/access`
    expect(card).toEqual({
      name: 'Weather',
      description: expect.any(String),
      url,
      version: '1.0.0',
      protocolVersion: '0.3.0',
      supportedInterfaces: [
        { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      ],
      capabilities: {
        extensions: [
          {
            uri: 'https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2',
            description: expect.stringMatching(/USDC.*test network.*eip155:84532/),
            required: true,
          },
          {
            uri: 'https://github.com/google-a2a/a2a-x402/v0.1',
            description: expect.any(String),
            required: false,
          },
        ],
        pushNotifications: false,
        streaming: true,
        stateTransitionHistory: false,
      },
      defaultInputModes: ['text'],
      defaultOutputModes: ['application/json'],
      skills: [
        expect.objectContaining({ id: 'discover-plans', tags: ['discovery', 'catalog', 'x402'] }),
        expect.objectContaining({
          id: 'request-access',
          tags: ['payment', 'x402', 'purchase'],
          endpoint: { url, method: 'POST' },
          inputSchema: expect.objectContaining({ required: ['planId'] }),
          workflow: [expect.any(String), expect.any(String), expect.any(String), expect.any(String)],
        }),
      ],
    })
    expect(card.skills[0].description).toContain('GET ')
    expect(Object.keys(card.skills[1].inputSchema.properties)).toEqual(['planId', 'requestId', 'resourceId'])
  })
})

describe('a task', () => {
  test('is the stored challenge: tasks/get has the terms, and they can be paid', async () => {
    const buyer = await buyerWith(PRICE)
    const { id } = await opened()
    const seen = await agent.get(id)
    expect(seen).toMatchObject(told('input-required', 'payment-required'))
    expect(dataOf(seen.result)).toMatchObject({ type: 'X402Challenge', challengeId: id })
    const paid = await agent.pay(await payloadFor(buyer, requiredOf(seen.result)), { contextId: 'mine' })
    expect(paid).toMatchObject(told('completed', 'payment-completed'))
    expect(paid.result).toMatchObject({ id, contextId: 'mine' })
    expect(await agent.get(id)).toMatchObject(told('completed', 'payment-completed'))
    expect(await world.status(id)).toMatchObject({ state: 'DELIVERED' })
  })

  test('is found by taskId alone, also by a payload that echoes nothing', async () => {
    const buyer = await buyerWith(PRICE)
    const { id, required } = await opened({ planId: 'basic', resourceId: 'eu' })
    const { accepted: _accepted, ...bare } = await payloadFor(buyer, required)
    expect(await agent.pay(bare, { taskId: id })).toMatchObject(told('completed', 'payment-completed'))
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('replays get the same grant and charge nothing; so does another signature of the payer', async () => {
    const buyer = await buyerWith(2n * PRICE)
    const { id, required } = await opened()
    const payload = await payloadFor(buyer, required)
    const first = await agent.pay(payload)
    const again = await agent.pay(payload)
    expect(dataOf(again.result)).toEqual(dataOf(first.result))
    expect(again.result?.metadata?.['x402.payment.receipts']).toHaveLength(1)
    const other = await agent.pay(await payloadFor(buyer, required), { taskId: id })
    expect(dataOf(other.result)).toEqual(dataOf(first.result))
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('that is paid answers an unpaid request without the grant', async () => {
    const buyer = await buyerWith(PRICE)
    const { task, required } = await opened({ planId: 'basic', requestId: 'asked-twice' })
    await agent.pay(await payloadFor(buyer, required))
    const again = await agent.ask({ planId: 'basic', requestId: 'asked-twice' })
    expect(again).toMatchObject(told('completed', 'payment-completed'))
    expect(again.result?.id).toBe(task.id)
    expect(JSON.stringify(again.result)).not.toContain('accessToken')
    expect(again.result?.status.message?.parts[0]?.text).toContain('is paid')
  })

  test('keeps the whole history of payments, good and bad', async () => {
    const poor = await buyerWith(0n)
    const buyer = await buyerWith(PRICE)
    const { id, required } = await opened()
    const refused = await agent.pay(await payloadFor(poor, required))
    expect(refused).toMatchObject(told('input-required', 'payment-failed', 'INSUFFICIENT_FUNDS'))
    expect(requiredOf(refused.result)?.challengeId, 'fresh terms').toBe(id)
    expect(await agent.get(id)).toMatchObject(told('input-required', 'payment-failed', 'INSUFFICIENT_FUNDS'))
    const cheap = await payloadFor(buyer, required, { value: '1' })
    expect(await agent.pay(cheap)).toMatchObject(told('input-required', 'payment-failed', 'INVALID_AMOUNT'))
    const good = await payloadFor(buyer, required)
    const forged = { ...good, payload: { ...(good.payload as object), signature: `0x${'11'.repeat(65)}` } }
    const unsigned = await agent.pay(forged)
    expect(unsigned).toMatchObject(told('input-required', 'payment-failed', 'INVALID_SIGNATURE'))
    expect(await agent.get(id), 'and so it stays').toMatchObject(
      told('input-required', 'payment-failed', 'INVALID_SIGNATURE'),
    )
    const late = await payloadFor(buyer, required, { validBefore: String(Math.floor(Date.now() / 1000) + 2) })
    expect(await agent.pay(late)).toMatchObject(told('input-required', 'payment-failed', 'EXPIRED_PAYMENT'))
    const paid = await agent.pay(await payloadFor(buyer, requiredOf(refused.result)))
    const seen = await agent.get(id)
    for (const { result } of [paid, seen]) {
      const receipts = result?.metadata?.['x402.payment.receipts'] ?? []
      expect(receipts.map(({ success }) => success)).toEqual([false, false, false, false, true])
      expect(receipts.map(({ errorReason }) => errorReason)).toEqual([
        expect.stringContaining('enough USDC'),
        expect.stringContaining('authorization.value is 1'),
        expect.stringContaining('signature'),
        expect.stringContaining('validBefore'),
        undefined,
      ])
      expect(receipts.filter(({ success }) => !success)).toContainEqual(
        expect.objectContaining({ transaction: '', errorReason: expect.stringContaining('enough USDC') }),
      )
    }
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('is cancelled by tasks/cancel or payment-rejected, and is not once it is paid', async () => {
    const buyer = await buyerWith(PRICE)
    const [one, two, three] = [await opened(), await opened(), await opened()]
    expect(await agent.cancel(one.id)).toMatchObject(told('canceled', 'payment-rejected'))
    expect(await agent.cancel(one.id), 'twice is once').toMatchObject(told('canceled', 'payment-rejected'))
    const metadata = { 'x402.payment.status': 'payment-rejected' }
    const rejected = await agent.rpc('message/send', agent.message([], { taskId: two.id, metadata }))
    expect(rejected).toMatchObject(told('canceled', 'payment-rejected'))
    expect(await world.status(two.id)).toMatchObject({ state: 'CANCELLED' })
    expect(await agent.pay(await payloadFor(buyer, one.required))).toMatchObject(
      told('failed', 'payment-failed', 'CHALLENGE_EXPIRED'),
    )
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
    await agent.pay(await payloadFor(buyer, three.required))
    const late = { error: { code: -32002, message: expect.stringContaining('DELIVERED') } }
    expect(await agent.cancel(three.id)).toMatchObject(late)
    expect(await agent.rpc('message/send', agent.message([], { taskId: three.id, metadata }))).toMatchObject(
      late,
    )
  })

  test('an offer made over HTTP has no task yet: rejecting it with its terms makes a cancelled one', async () => {
    const [one, two] = [await world.terms(), await world.terms()]
    const metadata = { 'x402.payment.status': 'payment-rejected' }
    const reject = (more: Record<string, unknown>) =>
      agent.rpc('message/send', agent.message([], { metadata: { ...metadata, ...more } }))
    expect((await agent.cancel(one.challengeId)).error).toMatchObject({ code: -32001 })
    const accepted = one.accepts[0]!
    expect((await reject({ 'x402.payment.payload': { accepted: { extra: 1 } } })).error).toBeDefined()
    const rejected = await reject({ 'x402.payment.payload': { accepted } })
    expect(rejected).toMatchObject(told('canceled', 'payment-rejected'))
    expect(rejected.result?.id).toBe(one.challengeId)
    expect(await world.status(one.challengeId)).toMatchObject({ state: 'CANCELLED' })
    const terms = { 'x402.payment.payload': { accepted: two.accepts[0]! } }
    expect(await agent.rpc('tasks/cancel', { id: two.challengeId, metadata: terms })).toMatchObject(
      told('canceled', 'payment-rejected'),
    )
  })

  test('in the background shows what became of a payment that failed', async () => {
    const poor = await buyerWith(0n)
    const { id, required } = await opened()
    const params = { ...agent.paying(await payloadFor(poor, required)), configuration: { blocking: false } }
    expect(await agent.rpc('message/send', params)).toMatchObject(told('working', 'payment-submitted'))
    const seen = await eventually(async () => {
      const answer = await agent.get(id)
      return answer.result?.status.state !== 'working' && answer
    })
    expect(seen).toMatchObject(told('input-required', 'payment-failed', 'INSUFFICIENT_FUNDS'))
  })
})

describe('a payment that cannot be', () => {
  const cases: Array<[string, string, (payload: Payload) => Payload]> = [
    ['of another amount', 'INVALID_AMOUNT', (p) => change(p, { value: '999999' })],
    ['for another network', 'NETWORK_MISMATCH', (p) => ({ ...p, network: 'eip155:8453' })],
    ['with a bent signature', 'INVALID_SIGNATURE', (p) => change(p, { nonce: `0x${'7'.repeat(64)}` })],
  ]
  function change(payload: Payload, authorization: object): Payload {
    const inner = payload.payload as { authorization: object }
    return { ...payload, payload: { ...inner, authorization: { ...inner.authorization, ...authorization } } }
  }

  test.each(cases)('%s is reported as %s, with new terms', async (_name, code, bend) => {
    const buyer = await buyerWith(PRICE)
    const { id, required } = await opened()
    const refused = await agent.pay(bend(await payloadFor(buyer, required)))
    expect(refused).toMatchObject(told('input-required', 'payment-failed', code))
    expect(refused.result?.id).toBe(id)
    expect(requiredOf(refused.result)?.challengeId).toBe(id)
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test('used already, for an unknown plan, or for a foreign challenge is final', async () => {
    const buyer = await buyerWith(2n * PRICE)
    const { required } = await opened()
    const payload = await payloadFor(buyer, required)
    await agent.pay(payload)
    const other = await opened()
    const moved = { ...payload, accepted: other.required.accepts[0] }
    expect(await agent.pay(moved)).toMatchObject(told('failed', 'payment-failed', 'DUPLICATE_NONCE'))
    const unknown = await agent.ask({ planId: 'gold' })
    expect(unknown).toMatchObject(told('failed', 'payment-failed', 'TIER_NOT_FOUND'))
    expect(dataOf(unknown.result)).toMatchObject({ type: 'Error', code: 'TIER_NOT_FOUND', httpStatus: 400 })
    expect(await agent.get(unknown.result!.id), 'nothing was opened').toMatchObject({
      error: { code: -32001 },
    })
    const foreign = {
      ...required.accepts[0]!,
      extra: { ...required.accepts[0]!.extra, challengeId: 'a2a-nobody' },
    }
    const fresh = { ...(await payloadFor(buyer, required)), accepted: foreign }
    expect(await agent.pay(fresh)).toMatchObject(told('failed', 'payment-failed', 'CHALLENGE_NOT_FOUND'))
    expect(await agent.pay(fresh, { taskId: 'a2a-nobody' })).toMatchObject({ error: { code: -32001 } })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})

describe('a call', () => {
  test('with a body must be repeated with it', async () => {
    const buyer = await buyerWith(CALL_PRICE)
    const resource = { method: 'POST', path: '/report', body: { city: 'Oslo' } }
    const { id, required } = await opened({ routeId: 'report', resource })
    const payload = await payloadFor(buyer, required)
    const without = await agent.pay(payload)
    expect(without).toMatchObject(told('input-required', 'payment-failed', 'RESOURCE_REQUIRED'))
    const parts = [{ kind: 'data', data: { type: 'AccessRequest', routeId: 'report', resource } }]
    const paid = await agent.pay(payload, { parts, taskId: id })
    expect(paid).toMatchObject(told('completed', 'payment-completed'))
    expect(JSON.parse(String(routes.backend.seen.at(-1)?.body))).toEqual({ city: 'Oslo' })
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })

  test('that the backend fails stays open: the same payload calls again, without a charge', async () => {
    const buyer = await buyerWith(CALL_PRICE)
    const { id, required } = await opened({
      routeId: 'weather',
      resource: { method: 'GET', path: '/weather/Oslo' },
    })
    const payload = await payloadFor(buyer, required)
    routes.backend.answer = (_call, response) => void response.writeHead(500).end('{"no":1}')
    const failed = await agent.pay(payload)
    expect(failed).toMatchObject(told('working', 'payment-verified'))
    expect(dataOf(failed.result)).toMatchObject({
      type: 'ResourceResponse',
      resource: { status: 500 },
      refund: { state: 'SCHEDULED', when: expect.any(String) },
      statusUrl: `${world.baseUrl}/x402/challenges/${id}`,
    })
    expect(failed.result?.artifacts).toBeUndefined()
    expect(await agent.get(id)).toMatchObject(told('working', 'payment-verified'))
    expect(await agent.cancel(id)).toMatchObject({ error: { code: -32002 } })
    routes.backend.answer = sunny
    const paid = await agent.pay(payload)
    expect(paid).toMatchObject(told('completed', 'payment-completed'))
    expect(JSON.stringify(await agent.get(id))).not.toContain('clear')
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })
})

describe('a stream', () => {
  test('of a payment tells submitted, verified and completed, and ends', async () => {
    const buyer = await buyerWith(PRICE)
    const { required } = await opened()
    const params = agent.paying(await payloadFor(buyer, required))
    const events = await collect(agent.stream('message/stream', params))
    expect(events.map(({ kind, metadata }) => metadata?.['x402.payment.status'] ?? kind)).toEqual([
      'payment-submitted',
      'payment-verified',
      'artifact-update',
      'payment-completed',
    ])
    expect(events.at(-1)).toMatchObject({
      kind: 'status-update',
      final: true,
      status: { state: 'completed' },
    })
    const again = await collect(agent.stream('message/stream', params))
    expect(again, 'a replay has nothing to follow').toMatchObject([{ kind: 'task', artifacts: [{}] }])
  })

  test('of terms, and of a task that waits or is over, is one event', async () => {
    const asked = await collect(agent.stream('message/stream', agent.asking({ planId: 'basic' })))
    expect(asked).toMatchObject([{ kind: 'task', status: { state: 'input-required' } }])
    const { id } = await opened()
    await agent.cancel(id)
    const seen = await collect(agent.stream('tasks/resubscribe', { id }))
    expect(seen).toMatchObject([{ kind: 'task', status: { state: 'canceled' } }])
    await expect(collect(agent.stream('tasks/resubscribe', { id: 'nobody' }))).rejects.toThrow('-32001')
  })

  test('resubscribed to follows a payment to its end, and never carries the grant', async () => {
    const buyer = await buyerWith(PRICE)
    const { id, required } = await opened()
    const payload = await payloadFor(buyer, required)
    await world.chain.setAutomine(false)
    try {
      await agent.rpc('message/send', { ...agent.paying(payload), configuration: { blocking: false } })
      const live = { code: -32002, message: expect.stringContaining('outcome is not known') }
      await eventually(async () => (await agent.cancel(id)).error?.message.includes('outcome is not known'))
      expect((await agent.cancel(id)).error).toMatchObject(live)
      const events = agent.stream('tasks/resubscribe', { id })
      expect((await events.next()).value).toMatchObject({ kind: 'task', status: { state: 'working' } })
      await world.chain.setAutomine(true)
      await world.chain.mine()
      const rest = await collect(events)
      expect(rest.at(-1)).toMatchObject({
        kind: 'status-update',
        final: true,
        status: { state: 'completed' },
      })
      expect(JSON.stringify(rest)).not.toContain('accessToken')
    } finally {
      await world.chain.setAutomine(true)
    }
    expect(dataOf((await agent.pay(payload)).result)).toMatchObject({ type: 'AccessGrant' })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('whose client disconnects at once settles all the same', async () => {
    const buyer = await buyerWith(PRICE)
    const { id, required } = await opened()
    const events = agent.stream('message/stream', agent.paying(await payloadFor(buyer, required)))
    await events.next()
    await events.return(undefined)
    await world.until(id, 'DELIVERED')
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})
