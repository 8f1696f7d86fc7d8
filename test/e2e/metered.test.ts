import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decodeJsonObject, encodeJson } from '../../src/protocol/base64.ts'
import type { Route } from '../../src/protocol/catalog.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { type RoutesWorld, type Seen, startRoutesWorld } from './routes-world.ts'

const MAX = 20_000n
const ROUTES: Route[] = [
  { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' },
  {
    ...{ routeId: 'tokens', method: 'POST', path: '/tokens', scheme: 'upto', maxAmount: '$0.02' },
    ...{ charge: { per: '/usage/total_tokens', unitAmount: '$0.000002' }, chargeIfUnstated: 'nothing' },
  },
  { routeId: 'raw', method: 'POST', path: '/raw', scheme: 'upto', maxAmount: '$0.02', raw: true },
]

let shop: RoutesWorld
let seller: `0x${string}`
beforeAll(async () => {
  shop = await startRoutesWorld({ options: { routes: ROUTES } })
  seller = shop.world.seller.address
})
afterAll(() => shop.stop())
beforeEach(() => {
  shop.backend.seen.length = 0
  shop.world.alerts.length = 0
})

/** What the backend answers, and what it says that the call cost. */
function answerWith(overrides: unknown, body: unknown = { text: 'hello' }, status = 200): void {
  shop.backend.answer = (_call: Seen, response) =>
    void response
      .writeHead(status, {
        'content-type': 'application/json',
        ...(overrides !== undefined && {
          'settlement-overrides': typeof overrides === 'string' ? overrides : JSON.stringify(overrides),
        }),
      })
      .end(JSON.stringify(body))
}

async function newBuyer(approved = true): Promise<DevAccount> {
  const buyer = await shop.world.chain.newBuyer({ micro: 5n * MAX })
  if (approved) await approvePermit2(shop.world.chain, buyer)
  return buyer
}

/** A call as the official client makes it. */
async function callAs(buyer: DevAccount, path = '/chat') {
  const client = new x402Client().register('eip155:*', new UptoEvmScheme(buyer.account))
  const answer = await wrapFetchWithPayment(fetch, client)(shop.world.baseUrl + path, { method: 'POST' })
  const header = answer.headers.get('payment-response')
  return { answer, settled: header === null ? undefined : decodeJsonObject(header) }
}

/** The header of a payment that the official client signs for these terms. */
async function signAs(buyer: DevAccount, path = '/chat'): Promise<string> {
  const { accepts } = await shop.termsOf(path, { method: 'POST' })
  const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, accepts[0] as never)
  return encodeJson({ x402Version: 2, accepted: accepts[0], payload })
}

const held = (account: string): Promise<bigint> => shop.world.chain.balanceOf(account as `0x${string}`)

test('the official client pays exactly what the backend says', async () => {
  answerWith({ amount: '1858' })
  const buyer = await newBuyer()
  const before = await held(seller)
  const { answer, settled } = await callAs(buyer)
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({ resource: { status: 200, body: { text: 'hello' } } })
  expect(answer.headers.get('settlement-overrides')).toBeNull()
  expect(settled).toMatchObject({ success: true, amount: '1858', payer: buyer.address.toLowerCase() })
  expect(settled?.transaction).toMatch(/^0x[0-9a-f]{64}$/)
  expect(await held(seller)).toBe(before + 1858n)
  expect(await held(buyer.address)).toBe(5n * MAX - 1858n)
})
