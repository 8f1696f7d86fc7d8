import { UptoEvmScheme } from '@x402/evm/upto/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeJson } from '../../src/protocol/base64.ts'
import type { Route } from '../../src/protocol/catalog.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import { type DevAccount, startFacilitator } from '../../src/testing/index.ts'
import { payloadFor, rawAgent, requiredOf } from './a2a-agent.ts'
import { type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { eventually } from './world.ts'

const METERED: Route = { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' }
const FIXED: Route = { routeId: 'fixed', method: 'GET', path: '/fixed', unitAmount: '$0.01' }

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld({ store: 'embedded', options: { routes: [METERED, FIXED] } })
})
afterAll(() => shop.stop())

const init = { method: 'POST', body: '{"ask": "weather" }' }

async function signMaximum(buyer: DevAccount, { accepts }: PaymentRequired): Promise<string> {
  const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, accepts[0] as never)
  return encodeJson({ x402Version: 2, accepted: accepts[0], payload })
}

/** A metered call that is answered, and whose charge cannot be settled, because its payer took the allowance back. */
async function leaveCharged(): Promise<{ buyer: DevAccount; challengeId: string; header: string }> {
  const buyer = await shop.world.chain.newBuyer({ micro: 100_000n })
  await approvePermit2(shop.world.chain, buyer)
  shop.backend.answer = async (_call, response) => {
    await approvePermit2(shop.world.chain, buyer, 0n)
    const headers = { 'content-type': 'application/json', 'settlement-overrides': '{"amount":"1858"}' }
    response.writeHead(200, headers).end('{"sky":"clear"}')
  }
  const required = await shop.termsOf('/chat', init)
  const header = await signMaximum(buyer, required)
  expect(await shop.call('/chat', init, header)).toMatchObject({ status: 503 })
  return { buyer, challengeId: required.challengeId!, header }
}

test('the last metered route may go while a charge is open: it is settled, its buyer gets the answer, and no such route is sold', async () => {
  const { world } = shop
  const unsent = await signMaximum(await world.chain.newBuyer(), await shop.termsOf('/chat', init))
  const { buyer, challengeId, header } = await leaveCharged()
  await world.restart({ routes: [FIXED] })
  expect(await shop.call('/chat', init)).toMatchObject({ status: 404 })
  expect(await shop.call('/chat', init, unsent)).toMatchObject({ status: 404 })
  expect(await shop.call('/chat', init, header)).toMatchObject({
    status: 503,
    body: { code: 'SETTLEMENT_PENDING' },
  })
  expect((await shop.termsOf('/fixed')).accepts.map(({ scheme }) => scheme)).toEqual(['exact'])
  await approvePermit2(world.chain, buyer, 100_000n)
  await eventually(async () => (await world.gateway.status(challengeId))?.state === 'DELIVERED')
  expect(await world.chain.balanceOf(buyer.address)).toBe(100_000n - 1858n)
  await expectAnswer()
  const elsewhere = { ...init, body: '{}' }
  expect(await shop.call('/chat', elsewhere, header)).toMatchObject({ status: 409 })

  // Its receipt is not final yet, so the rail is opened at the next start too.
  await world.restart({ routes: [FIXED] })
  await eventually(async () => {
    await world.chain.mine(1)
    const receipts = await world.gateway.backstage.store.list('receipts', challengeId)
    return receipts.every(({ finalized }) => finalized)
  })
  expect(world.alerts.filter(({ kind }) => kind === 'rail-missing')).toEqual([])
  // Nothing is left to finish, and the answer is still its buyer's.
  await world.restart({ routes: [FIXED] })
  await expectAnswer()
  expect(await world.chain.balanceOf(buyer.address)).toBe(100_000n - 1858n)

  async function expectAnswer(): Promise<void> {
    expect(await shop.call('/chat', init, header)).toMatchObject({
      status: 200,
      body: { challengeId, resource: { status: 200, body: { sky: 'clear' } } },
      receipt: { success: true, amount: '1858' },
    })
  }
}, 60_000)

test('the task of a metered offer that no rail can settle any more is over, and its request is sold at the price', async () => {
  const { world } = shop
  await world.restart({ routes: [METERED, FIXED] })
  const agent = rawAgent(`${world.baseUrl}/a2a`)
  const call = { routeId: 'chat', requestId: 'm-1', resource: { method: 'POST', path: '/chat' } }
  const { result: task } = await agent.ask(call)
  const fixed = { routeId: 'fixed', resource: { method: 'GET', path: '/fixed' } }
  const { result: other } = await agent.ask(fixed)
  const facilitator = await startFacilitator({ chain: world.chain })
  const bySomebody = { gasWalletPrivateKey: undefined, facilitatorUrl: facilitator.url } as object
  const atPrice: Route = { ...FIXED, routeId: 'chat', method: 'POST', path: '/chat' }
  await world.restart({ routes: [atPrice, FIXED], ...bySomebody })

  expect((await agent.get(task!.id)).result).toMatchObject({
    status: { state: 'failed' },
    metadata: { 'x402.payment.error': 'CHALLENGE_EXPIRED' },
  })
  // A message that contradicts itself is answered with the task as well.
  const payload = await payloadFor(await world.chain.newBuyer(), requiredOf(other))
  const { extra } = requiredOf(other)!.accepts[0]!
  const accepted = { ...(payload.accepted as object), extra: { ...extra, challengeId: task!.id } }
  const parts = [{ kind: 'data', data: { type: 'AccessRequest', ...call } }]
  const message = agent.paying({ ...payload, accepted }, { parts })
  const background = { ...message, configuration: { blocking: false } }
  for (const params of [message, background]) {
    expect((await agent.rpc('message/send', params)).result?.id).toBe(task!.id)
  }
  const again = requiredOf((await agent.ask(call)).result)!
  expect(again.accepts.map(({ scheme }) => scheme)).toEqual(['exact'])
  expect(again.challengeId).not.toBe(task!.id)
  await facilitator.stop()
})
