import { UptoEvmScheme } from '@x402/evm/upto/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Route } from '../../src/protocol/catalog.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { collect, type RpcAnswer, rawAgent, requiredOf } from './a2a-agent.ts'
import { type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { eventually } from './world.ts'

const ROUTES: Route[] = [
  { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' },
]
const CALL = { routeId: 'chat', resource: { method: 'POST', path: '/chat' } }

let shop: RoutesWorld
let agent: ReturnType<typeof rawAgent>
let buyer: DevAccount
beforeAll(async () => {
  shop = await startRoutesWorld({
    store: 'embedded',
    options: { routes: ROUTES, a2a: { streaming: true } },
    proxied: true,
  })
  agent = rawAgent(`${shop.world.baseUrl}/a2a`)
  buyer = await shop.world.chain.newBuyer({ micro: 100_000n })
  await approvePermit2(shop.world.chain, buyer)
})
afterAll(() => shop.stop())

/** A task for one call, and what pays for it. */
async function opened(call: Record<string, unknown> = CALL) {
  const task = (await agent.ask(call)).result!
  const accepted = requiredOf(task)!.accepts[0]!
  const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, accepted as never)
  return { id: task.id, payload: { x402Version: 2, accepted, payload } }
}

function answerWith(amount: string, status = 200): void {
  shop.backend.answer = (_call, response) =>
    void response
      .writeHead(status, {
        'content-type': 'application/json',
        'settlement-overrides': JSON.stringify({ amount }),
      })
      .end('{}')
}

const receiptsIn = ({ result }: RpcAnswer) =>
  result?.metadata?.['x402.payment.receipts']?.map(({ success, amount, transaction }) => [
    success,
    amount,
    transaction.length,
  ])

test.each([
  ['1858', 66],
  ['0', 0],
])('the receipt of a call that cost %s says so, in the answer and in the task', async (amount, length) => {
  answerWith(amount)
  const { id, payload } = await opened()
  for (const told of [await agent.pay(payload), await agent.get(id), await agent.pay(payload)]) {
    expect(told.result?.status.state).toBe('completed')
    expect(receiptsIn(told)).toEqual([[true, amount, length]])
  }
})

test('a call that failed was not paid: the same payload calls again', async () => {
  answerWith('7', 500)
  const { id, payload } = await opened()
  const failed = await agent.pay(payload)
  expect(failed.result).toMatchObject({
    status: { state: 'working' },
    metadata: { 'x402.payment.status': 'payment-submitted', 'x402.payment.error': 'CALL_FAILED' },
  })
  expect(receiptsIn(failed)).toEqual([[false, undefined, 0]])
  answerWith('7')
  expect((await agent.pay(payload)).result?.status.state).toBe('completed')
  expect(receiptsIn(await agent.get(id))).toContainEqual([true, '7', 66])
})

const callFailed = {
  status: { state: 'working' },
  metadata: { 'x402.payment.status': 'payment-submitted', 'x402.payment.error': 'CALL_FAILED' },
}
const textOf = ({ result }: RpcAnswer) => result?.status.message?.parts[0]?.text

test('after a failed call the task says what the answer said, and asks for no second maximum', async () => {
  const SAID =
    'The call failed: the backend answered 500. Nothing was charged. Send the same payload again to call again; do not sign a new one.'
  answerWith('7', 500)
  const waited = await opened()
  expect(textOf(await agent.pay(waited.payload))).toBe(SAID)
  const followed = await opened()
  const params = { ...agent.paying(followed.payload), configuration: { blocking: false } }
  expect((await agent.rpc('message/send', params)).result?.status.state).toBe('working')
  await eventually(async () => (await agent.get(followed.id)).result?.metadata?.['x402.payment.error'])
  for (const { id } of [waited, followed]) {
    const told = await agent.get(id)
    expect(told.result).toMatchObject(callFailed)
    expect(textOf(told)).toBe(SAID)
    expect(requiredOf(told.result)).toBeUndefined()
    expect(receiptsIn(told)).toEqual([[false, undefined, 0]])
  }
  const seen = await collect(agent.stream('tasks/resubscribe', { id: waited.id }))
  expect(seen, 'the task waits for its buyer').toMatchObject([{ kind: 'task', ...callFailed }])
  answerWith('7')
  expect((await agent.pay(followed.payload)).result?.status.state).toBe('completed')
})

test('an answer that names no valid charge is a failed call as well', async () => {
  answerWith('a lot')
  const { id, payload } = await opened()
  const kept = await agent.pay(payload)
  expect(kept.result).toMatchObject(callFailed)
  const told = await agent.get(id)
  expect(told.result).toMatchObject(callFailed)
  expect(textOf(told)).toBe(textOf(kept))
})

test('a failed call with a body, sent again without it, is not told to sign another maximum', async () => {
  answerWith('7', 500)
  const call = { ...CALL, resource: { ...CALL.resource, body: { ask: 'why' } } }
  const { id, payload } = await opened(call)
  const data = { type: 'AccessRequest', ...call }
  const whole = { taskId: id, parts: [{ kind: 'data', data }] }
  expect((await agent.pay(payload, whole)).result).toMatchObject(callFailed)
  expect(textOf(await agent.get(id))).toContain('AccessRequest')
  const without = await agent.pay(payload)
  expect(without.result?.status.state).toBe('working')
  expect(without.result?.metadata?.['x402.payment.status']).toBe('payment-submitted')
  expect(requiredOf(without.result)).toBeUndefined()
  answerWith('7')
  expect((await agent.pay(payload, whole)).result?.status.state).toBe('completed')
})

test('a permit that ends too soon is an expired payment, and one that lasts too long is not', async () => {
  answerWith('7')
  const now = Math.floor(Date.now() / 1000)
  for (const [maxTimeoutSeconds, error] of [
    [5, 'EXPIRED_PAYMENT'],
    [9000, 'SETTLEMENT_FAILED'],
  ] as const) {
    const task = (await agent.ask(CALL)).result!
    const accepted = requiredOf(task)!.accepts[0]!
    const terms = { ...accepted, maxTimeoutSeconds }
    const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, terms as never)
    expect(Number((payload.permit2Authorization as { deadline: string }).deadline)).toBeGreaterThan(now)
    const told = await agent.pay({ x402Version: 2, accepted, payload })
    expect(told.result?.metadata).toMatchObject({
      'x402.payment.status': 'payment-failed',
      'x402.payment.error': error,
    })
  }
})
