import { UptoEvmScheme } from '@x402/evm/upto/client'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { encodeJson } from '../../src/protocol/base64.ts'
import type { Route } from '../../src/protocol/catalog.ts'
import { approvePermit2 } from '../../src/testing/approve-permit2.ts'
import { type RoutesWorld, startRoutesWorld } from '../e2e/routes-world.ts'
import { PRICE } from '../e2e/world.ts'

const PER_MINUTE = 20
const plans = [{ planId: 'basic', unitAmount: '$1.00', credits: 1 }]
const paths = { method: 'GET', maxAmount: '$0.05' } as const
let asked = 0
const routes: Route[] = [
  {
    ...{ ...paths, routeId: 'quote', path: '/quote/:id', credits: 1 },
    unitAmount: async () => {
      asked++
      return '$0.01'
    },
  },
  {
    ...{ ...paths, routeId: 'unknown', path: '/unknown/:id' },
    unitAmount: async () => {
      asked++
      throw new Error('no such id')
    },
  },
  { routeId: 'chat', method: 'POST', path: '/chat', scheme: 'upto', maxAmount: '$0.02' },
]

let shop: RoutesWorld
let reads = 0
beforeAll(async () => {
  const options = { routes, plans, settleWaitSeconds: 4, rateLimitPerMinute: PER_MINUTE }
  shop = await startRoutesWorld({
    options,
    instruments: {
      store: (store) => ({
        ...store,
        get: (...args) => {
          reads++
          return store.get(...args)
        },
      }),
    },
  })
})
afterAll(() => shop.stop())
beforeEach(() => {
  asked = 0
})

test('attack 64: a token whose credits are spent asks for terms no more often than a request without payment', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: PRICE })
  const { accessToken } = (await shop.world.buy(buyer)).body
  const headers = { authorization: `Bearer ${accessToken}` }
  expect((await shop.call('/quote/1', { headers })).status).toBe(200)
  const seen = new Set<number>()
  for (let index = 0; index < 3 * PER_MINUTE; index++)
    seen.add((await shop.call('/quote/1', { headers })).status)
  expect([...seen]).toEqual([402, 429])
  expect(asked).toBeLessThanOrEqual(PER_MINUTE + 1)
})

test('attack 64: a charge that its payer made impossible is not asked about without a pause', async () => {
  const { chain } = shop.world
  const buyer = await chain.newBuyer({ micro: 100_000n })
  await approvePermit2(chain, buyer)
  const { accepts } = await shop.termsOf('/chat', { method: 'POST' })
  const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, accepts[0] as never)
  const header = encodeJson({ x402Version: 2, accepted: accepts[0], payload })
  shop.backend.answer = (_call, response) => {
    void approvePermit2(chain, buyer, 0n).then(() =>
      response.writeHead(200, { 'settlement-overrides': '{"amount":"1858"}' }).end('{}'),
    )
  }
  const ask = () => shop.call('/chat', { method: 'POST' }, header)
  expect((await ask()).body.code).toBe('SETTLEMENT_PENDING')
  reads = 0
  const seen = new Set<number>()
  for (let index = 0; index < 200; index++) seen.add((await ask()).status)
  expect([...seen]).toEqual([503, 429])
  expect(reads).toBeLessThan(150 * 5)
}, 60_000)

// Last, because it uses up what this address may fail with.
test('attack 64: made-up payments do not ask the seller for prices without a limit', async () => {
  const { network, usdc } = shop.world.chain
  const from = privateKeyToAddress(generatePrivateKey())
  const authorization = { from, to: from, value: '1', validAfter: '0', validBefore: '9999999999' }
  const header = (index: number) =>
    encodeJson({
      x402Version: 2,
      accepted: { scheme: 'exact', network, asset: usdc, extra: { routeId: 'unknown' } },
      payload: {
        signature: `0x${'11'.repeat(65)}`,
        authorization: { ...authorization, nonce: `0x${String(index).padStart(64, '0')}` },
      },
    })
  const seen = new Set<number>()
  for (let index = 0; index < 3 * PER_MINUTE; index++)
    seen.add((await shop.call('/unknown/none', {}, header(index))).status)
  expect([...seen]).toEqual([503, 429])
  expect(asked).toBeLessThanOrEqual(PER_MINUTE)
})
