import { UptoEvmScheme } from '@x402/evm/upto/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeJson } from '../../src/protocol/base64.ts'
import type { Route } from '../../src/protocol/catalog.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { eventually } from './world.ts'

const METERED: Route = { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' }
const FIXED: Route = { routeId: 'fixed', method: 'GET', path: '/fixed', unitAmount: '$0.01' }

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld({ store: 'embedded', options: { routes: [METERED, FIXED] } })
})
afterAll(() => shop.stop())

const init = { method: 'POST' }

/** A metered call that is answered, and whose charge cannot be settled, because its payer took the allowance back. */
async function leaveCharged(): Promise<{ buyer: DevAccount; challengeId: string }> {
  const buyer = await shop.world.chain.newBuyer({ micro: 100_000n })
  await approvePermit2(shop.world.chain, buyer)
  shop.backend.answer = async (_call, response) => {
    await approvePermit2(shop.world.chain, buyer, 0n)
    response.writeHead(200, { 'settlement-overrides': '{"amount":"1858"}' }).end('{}')
  }
  const { accepts, challengeId } = await shop.termsOf('/chat', init)
  const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, accepts[0] as never)
  const header = encodeJson({ x402Version: 2, accepted: accepts[0], payload })
  expect(await shop.call('/chat', init, header)).toMatchObject({ status: 503 })
  return { buyer, challengeId }
}

test('the last metered route may go while a charge is open: it is settled, and no such route is sold', async () => {
  const { world } = shop
  const { buyer, challengeId } = await leaveCharged()
  await world.restart({ routes: [FIXED] })
  expect(await shop.call('/chat', init)).toMatchObject({ status: 404 })
  expect((await shop.termsOf('/fixed')).accepts.map(({ scheme }) => scheme)).toEqual(['exact'])
  await approvePermit2(world.chain, buyer, 100_000n)
  await eventually(async () => (await world.gateway.status(challengeId))?.state === 'DELIVERED')
  expect(await world.chain.balanceOf(buyer.address)).toBe(100_000n - 1858n)

  // Its receipt is not final yet, so the rail is opened at the next start too.
  await world.restart({ routes: [FIXED] })
  await eventually(async () => {
    await world.chain.mine(1)
    const receipts = await world.gateway.backstage.store.list('receipts', challengeId)
    return receipts.every(({ finalized }) => finalized)
  })
  expect(world.alerts.filter(({ kind }) => kind === 'rail-missing')).toEqual([])
}, 60_000)
