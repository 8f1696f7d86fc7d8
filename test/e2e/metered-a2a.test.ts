import { UptoEvmScheme } from '@x402/evm/upto/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Route } from '../../src/protocol/catalog.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { type RpcAnswer, rawAgent, requiredOf } from './a2a-agent.ts'
import { type RoutesWorld, startRoutesWorld } from './routes-world.ts'

const ROUTES: Route[] = [
  { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' },
]
const CALL = { routeId: 'chat', resource: { method: 'POST', path: '/chat' } }

let shop: RoutesWorld
let agent: ReturnType<typeof rawAgent>
let buyer: DevAccount
beforeAll(async () => {
  shop = await startRoutesWorld({ store: 'embedded', options: { routes: ROUTES }, proxied: true })
  agent = rawAgent(`${shop.world.baseUrl}/a2a`)
  buyer = await shop.world.chain.newBuyer({ micro: 100_000n })
  await approvePermit2(shop.world.chain, buyer)
})
afterAll(() => shop.stop())

/** A task for one call, and what pays for it. */
async function opened() {
  const task = (await agent.ask(CALL)).result!
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
