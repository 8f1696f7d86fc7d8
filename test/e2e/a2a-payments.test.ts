import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { DevAccount } from '../../src/testing/index.ts'
import { usdcAbi } from '../../src/testing/index.ts'
import { collect, dataOf, type Payload, payloadFor, type RpcAnswer, requiredOf } from './a2a-agent.ts'
import { startTasksWorld, type TasksWorld, told } from './a2a-tasks-world.ts'
import { CALL_PRICE, type RoutesWorld, sunny } from './routes-world.ts'
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
beforeEach(() => {
  routes.backend.answer = sunny
})

const textOf = ({ result }: RpcAnswer) => result?.status.message?.parts[0]?.text

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

  test('of ids that contradict each other, or without its call, is told the terms again', async () => {
    const buyer = await buyerWith(PRICE)
    const { id, required } = await opened()
    const payload = await payloadFor(buyer, required)
    const parts = [{ kind: 'data', data: { type: 'AccessRequest', planId: 'basic', resourceId: 'other' } }]
    for (const named of [{ taskId: id }, {}]) {
      const refused = await agent.pay(payload, { parts, ...named })
      expect(refused).toMatchObject(told('input-required', 'payment-failed', 'INVALID_REQUEST'))
      expect(refused.result?.id).toBe(id)
      expect(requiredOf(refused.result)?.challengeId).toBe(id)
    }
    const resource = { method: 'POST', path: '/report', body: { city: 'Rome' } }
    const call = await opened({ routeId: 'report', resource })
    const without = await agent.pay(await payloadFor(buyer, call.required))
    expect(without).toMatchObject(told('input-required', 'payment-failed', 'RESOURCE_REQUIRED'))
    expect(requiredOf(without.result)?.challengeId).toBe(call.id)
    expect(await agent.pay(payload), 'nothing is lost').toMatchObject(told('completed', 'payment-completed'))
    const late = await agent.pay(await payloadFor(buyer, required), { parts, taskId: id })
    expect(late, 'nor is what was bought').toMatchObject(
      told('completed', 'payment-completed', 'INVALID_REQUEST'),
    )
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
    expect(textOf(await agent.get(id)), 'how to fetch it').toContain('AccessRequest')
    const lacking = await agent.pay(payload)
    expect(lacking).toMatchObject(told('completed', 'payment-completed', 'RESOURCE_REQUIRED'))
    expect(textOf(lacking)).toContain('AccessRequest')
    expect(await agent.pay(payload, { parts, taskId: id })).toMatchObject(
      told('completed', 'payment-completed'),
    )
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

describe('a transfer that was sent, and is proven', () => {
  const resource = { method: 'POST', path: '/report', body: { city: 'Oslo' } }
  const access = (body: object) => ({
    kind: 'data',
    data: { type: 'AccessRequest', routeId: 'report', resource: { ...resource, body } },
  })

  async function send(buyer: DevAccount, value: bigint) {
    const { chain, seller } = world
    await chain.fundEth(buyer.address, 10n ** 18n)
    return chain.client.writeContract({
      ...{ account: buyer.account, chain: null, address: chain.usdc, abi: usdcAbi, gas: 200_000n },
      ...{ functionName: 'transfer', args: [seller.address, value] },
    })
  }

  async function proofOf(buyer: DevAccount, challengeId: string, txHash: string, text?: string) {
    const signature = await buyer.account.signMessage({ message: text ?? `${challengeId}:${txHash}` })
    return { kind: 'data', data: { type: 'PaymentProof', challengeId, txHash, signature } }
  }

  const prove = (parts: object[], blocking = true) =>
    agent.rpc('message/send', { ...agent.message(parts), configuration: { blocking } })

  test('gets no terms where the message is at fault, and buys once that is mended', async () => {
    const buyer = await buyerWith(2n * CALL_PRICE)
    const { id } = await opened({ routeId: 'report', resource })
    const txHash = await send(buyer, CALL_PRICE)
    await world.chain.client.waitForTransactionReceipt({ hash: txHash })
    const proof = await proofOf(buyer, id, txHash)
    for (const [parts, code] of [
      [[proof], 'RESOURCE_REQUIRED'],
      [[proof, access({ city: 'Rome' })], 'INVALID_REQUEST'],
    ] as const) {
      const refused = await prove([...parts])
      expect(refused).toMatchObject(told('input-required', 'payment-failed', code))
      expect(requiredOf(refused.result), 'a client of the extension would pay by them').toBeUndefined()
      expect(requiredOf((await agent.get(id)).result), 'nor by those of the task').toBeUndefined()
      expect(textOf(refused)).toMatch(/AccessRequest|Repeat it/)
      expect(textOf(refused)).toMatch(/send the same proof again; do not pay again\.$/)
    }
    expect(await prove([proof, access(resource.body)])).toMatchObject(told('completed', 'payment-completed'))
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })

  test('is not asked for again by its task, and the task can be paid in another way all the same', async () => {
    const buyer = await buyerWith(2n * PRICE)
    const { id, required } = await opened()
    expect(textOf(await agent.get(id))).toMatch(
      /sent a transfer for it, do not pay again: send its PaymentProof/,
    )
    await world.chain.setAutomine(false)
    try {
      const txHash = await send(buyer, PRICE)
      const proof = await proofOf(buyer, id, txHash)
      for (const answer of [await prove([proof], false), await agent.get(id)]) {
        expect(answer).toMatchObject(told('working', 'payment-submitted'))
        expect(requiredOf(answer.result)).toBeUndefined()
        expect(textOf(answer)).toContain('Send the same proof again; do not pay again.')
      }
    } finally {
      await world.chain.setAutomine(true)
      await world.chain.mine()
    }
    const refused = await agent.pay(await payloadFor(await buyerWith(0n), required))
    expect(refused).toMatchObject(told('input-required', 'payment-failed', 'INSUFFICIENT_FUNDS'))
    const looked = await agent.get(id)
    expect(looked).toMatchObject(told('input-required', 'payment-failed', 'INSUFFICIENT_FUNDS'))
    expect(requiredOf(looked.result)?.challengeId).toBe(id)
  })

  test('by a bad signature is told so at once, and by its task', async () => {
    const buyer = await buyerWith(2n * PRICE)
    const { id } = await opened()
    const txHash = await send(buyer, PRICE)
    await world.chain.client.waitForTransactionReceipt({ hash: txHash })
    const bad = await proofOf(buyer, id, txHash, txHash)
    for (const answer of [await prove([bad], false), await agent.get(id)]) {
      expect(answer).toMatchObject(told('input-required', 'payment-failed', 'INVALID_SIGNATURE'))
      expect(requiredOf(answer.result)).toBeUndefined()
    }
    const bought = await prove([await proofOf(buyer, id, txHash)])
    expect(bought).toMatchObject(told('completed', 'payment-completed'))
    expect(await agent.get(id)).toMatchObject(told('completed', 'payment-completed'))
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})
