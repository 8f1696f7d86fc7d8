import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dataOf, payloadFor, requiredOf } from './a2a-agent.ts'
import { startTasksWorld, type TasksWorld, told } from './a2a-tasks-world.ts'
import type { RoutesWorld } from './routes-world.ts'
import { eventually, PRICE, type World } from './world.ts'

let routes: RoutesWorld
let world: World
let agent: TasksWorld['agent']
let opened: TasksWorld['opened']
let buyerWith: TasksWorld['buyerWith']
beforeAll(async () => {
  ;({ routes, agent, opened, buyerWith } = await startTasksWorld())
  world = routes.world
})
afterAll(() => routes.stop())

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

  test('a payment that is refused again, for another reason, is told that reason too', async () => {
    const buyer = await buyerWith(PRICE)
    const { required } = await opened()
    const good = await payloadFor(buyer, required)
    const accepted = { ...(good.accepted as object), payTo: buyer.address }
    await agent.pay({ ...good, accepted })
    const forged = { ...(good.payload as object), signature: `0x${'11'.repeat(65)}` }
    const { result } = await agent.pay({ ...good, accepted: good.accepted, payload: forged })
    const reasons = result?.metadata?.['x402.payment.receipts']?.map(({ errorReason }) => errorReason)
    expect(reasons).toEqual([expect.stringContaining('payTo'), expect.stringContaining('signature')])
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
