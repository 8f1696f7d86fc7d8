import { checkEndpointSchema } from '@agentcash/discovery'
import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithSIWx } from '@x402/extensions'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { DevAccount } from '../../src/testing/index.ts'
import { CALL_PRICE, ROUTES, type RoutesWorld, startRoutesWorld, sunny } from './routes-world.ts'
import { offeredIn, proofHeader, SIGN_IN } from './sign-in-client.ts'
import { answerOf, PRICE } from './world.ts'

const routes = ROUTES.map((route) => (route.routeId === 'weather' ? { ...route, credits: 1 } : route))
const plans = [
  { planId: 'basic', unitAmount: '$1.00', credits: 3 },
  { planId: 'big', unitAmount: '$1.00', credits: 10 },
  { planId: 'plain', unitAmount: '$1.00' },
]

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld({ options: { routes, plans } })
})
afterAll(() => shop.stop())
beforeEach(() => {
  shop.backend.seen.length = 0
  shop.backend.answer = sunny
})

const PATH = '/weather/paris'

/** A proof for what the answer to an unpaid request offers. */
async function proofAt(
  path: string,
  buyer: Pick<DevAccount, 'account'>,
  change: object = {},
): Promise<string> {
  return proofHeader(offeredIn((await shop.call(path)).body), buyer, change)
}
const callWith = (proof: string, path = PATH, headers: Record<string, string> = {}) =>
  shop.call(path, { headers: { [SIGN_IN]: proof, ...headers } })

test('a wallet spends by sign-in, once per proof and only where it was signed for', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: PRICE })
  await shop.world.buy(buyer)
  const terms = await shop.call(PATH)
  expect(terms.status).toBe(402)
  expect(offeredIn(terms.body).info.uri).toBe(shop.world.baseUrl + PATH)
  const proof = await proofHeader(offeredIn(terms.body), buyer)
  const elsewhere = await callWith(proof, '/weather/rome')
  expect([elsewhere.status, elsewhere.headers.get('www-authenticate')]).toEqual([401, SIGN_IN])
  expect(offeredIn(elsewhere.body).info.uri).toBe(`${shop.world.baseUrl}/weather/rome`)
  const spent = await callWith(proof, `${PATH}?units=c`)
  expect(spent).toMatchObject({
    status: 200,
    body: { credits: { planId: 'basic', charged: 1, remaining: 2 } },
  })
  const many = await Promise.all(Array.from({ length: 5 }, () => callWith(proof)))
  expect(many.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
  expect(shop.backend.seen.length).toBe(1)
  expect(shop.backend.seen[0]!.headers).not.toHaveProperty(SIGN_IN)
  const fresh = await proofAt(PATH, buyer)
  const atOnce = await Promise.all(Array.from({ length: 5 }, () => callWith(fresh)))
  expect(atOnce.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401])
  expect(shop.backend.seen.length).toBe(2)
})

test('a wallet without credits, or somebody else’s signature, spends nothing', async () => {
  const owner = await shop.world.chain.newBuyer({ micro: PRICE })
  await shop.world.buy(owner)
  const stranger = await shop.world.chain.newBuyer({ micro: 0n })
  const empty = await callWith(await proofAt(PATH, stranger))
  expect(empty).toMatchObject({ status: 402, body: { code: 'CREDITS_EXHAUSTED' } })
  expect(empty.headers.get('payment-required')).not.toBeNull()
  const forged = JSON.parse(Buffer.from(await proofAt(PATH, stranger), 'base64').toString()) as object
  const asOwner = Buffer.from(JSON.stringify({ ...forged, address: owner.address })).toString('base64')
  expect((await callWith(asOwner)).status).toBe(401)
  expect((await callWith('not a proof')).status).toBe(401)
  expect(shop.backend.seen).toEqual([])
})

test('a wallet spends what it bought for another resource, and its backend does not see the name', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: PRICE })
  await shop.world.buy(buyer, { planId: 'basic', resourceId: 'team-a' })
  expect(await callWith(await proofAt(PATH, buyer))).toMatchObject({
    status: 402,
    body: {
      code: 'CREDITS_EXHAUSTED',
      message: expect.stringContaining('0 are left for the resource default'),
    },
  })
  const header = { 'x-svc-resource-id': 'team-a' }
  expect(await callWith(await proofAt(PATH, buyer), PATH, header)).toMatchObject({
    status: 200,
    body: { credits: { planId: 'basic', remaining: 2 } },
  })
  expect(shop.backend.seen[0]!.headers).not.toHaveProperty('x-svc-resource-id')
  const url = '/x402/credits'
  const balance = await callWith(await proofAt(url, buyer), `${url}?resourceId=team-a`)
  expect(balance.body).toMatchObject({ resourceId: 'team-a', remaining: 2 })
})

test('the official client spends credits instead of paying where it names the resource, and pays when they are gone', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: PRICE + 2n * CALL_PRICE })
  await shop.world.buy(buyer)
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(buyer.account))
  const enter = wrapFetchWithPayment(wrapFetchWithSIWx(fetch, buyer.account) as typeof fetch, client)
  const headers = { 'x-svc-resource-id': 'default' }
  const call = async () => answerOf(await enter(shop.world.baseUrl + PATH, { headers }))
  for (const remaining of [2, 1, 0]) {
    expect(await call()).toMatchObject({ status: 200, body: { credits: { charged: 1, remaining } } })
  }
  expect((await shop.world.flows(buyer)).paid).toEqual([PRICE])
  expect((await call()).status).toBe(200)
  expect((await shop.world.flows(buyer)).paid).toEqual([PRICE, CALL_PRICE])
  expect(shop.backend.seen.length).toBe(4)
})

test('a directory finds a route that takes credits to be paid; with the sign-in in the header it would not', async () => {
  const probe = async (headers: Record<string, string> = {}) => {
    const found = await checkEndpointSchema({ url: shop.world.baseUrl + PATH, probe: true, headers })
    return found.found && found.advisories.find(({ method }) => method === 'GET')?.authMode
  }
  expect(await probe()).toBe('paid')
  expect(await probe({ 'x-svc-resource-id': 'default' })).toBe('siwx')
})

test('a wallet with code spends what it bought on its own network', async () => {
  const owner = await shop.world.chain.newBuyer({ micro: 0n })
  const wallet = await shop.world.chain.deployWallet1271(owner.address)
  await shop.world.chain.mint(wallet.address, PRICE)
  const required = await shop.world.terms()
  const header = await shop.world.sign(owner, required.accepts[0]!, { from: wallet.address })
  expect((await shop.world.pay(header)).status).toBe(200)
  const signer = { account: { address: wallet.address, signMessage: owner.account.signMessage } as never }
  expect(await callWith(await proofAt(PATH, signer))).toMatchObject({
    status: 200,
    body: { credits: { remaining: 2 } },
  })
  await wallet.setMode('refuses')
  expect((await callWith(await proofAt(PATH, signer))).status).toBe(401)
})

test('the same Idempotency-Key is debited once, from whichever plan', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: 3n * PRICE })
  await shop.world.buy(buyer, { planId: 'big' })
  const key = { 'idempotency-key': 'mine' }
  const first = await callWith(await proofAt(PATH, buyer), PATH, key)
  expect(first.body).toMatchObject({ credits: { planId: 'big', remaining: 9 } })
  // A plan that would be spent first is bought in between.
  await shop.world.buy(buyer, { planId: 'basic' })
  const again = await callWith(await proofAt(PATH, buyer), PATH, key)
  expect([again.status, again.headers.get('x-svc-code')]).toEqual([200, 'CALL_ALREADY_DEBITED'])
  expect(again.body).toMatchObject({
    resource: first.body.resource,
    credits: { planId: 'big', remaining: 9 },
  })
  expect(shop.backend.seen.length).toBe(1)
})

test('the balance of a token, and of every account of a wallet', async () => {
  const buyer = await shop.world.chain.newBuyer({ micro: 3n * PRICE })
  const { body: grant } = await shop.world.buy(buyer)
  const url = '/x402/credits'
  const bare = await shop.call(url)
  expect(bare).toMatchObject({ status: 401, body: { code: 'UNAUTHORIZED' } })
  expect(bare.headers.get('www-authenticate')).toBe('Bearer')
  const asWallet = async (query = '') => callWith(await proofAt(url, buyer), url + query)
  const one = {
    ...{ planId: 'basic', resourceId: 'default', granted: 3, spent: 0, reserved: 0, remaining: 3 },
    expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    lots: [
      { challengeId: grant.challengeId, granted: 3, spent: 0, remaining: 3, expiresAt: expect.any(String) },
    ],
  }
  const authorization = `Bearer ${grant.accessToken}`
  const byToken = await shop.call(url, { headers: { authorization } })
  expect(byToken.headers.get('cache-control')).toBe('no-store, private')
  expect(byToken.body).toEqual(one)
  expect((await asWallet()).body).toEqual(one)
  await shop.world.buy(buyer, { planId: 'big' })
  expect((await asWallet()).body).toMatchObject({
    accounts: [{ planId: 'basic' }, { planId: 'big', granted: 10 }],
  })
  expect((await asWallet('?planId=big')).body).toMatchObject({ planId: 'big', remaining: 10 })
  expect((await asWallet('?planId=big&resourceId=other')).body).toMatchObject({ remaining: 0, lots: [] })
  expect(await asWallet('?planId=plain')).toMatchObject({ status: 400, body: { code: 'TIER_NOT_FOUND' } })
  expect(await asWallet('?planId=a%20b')).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
  expect((await shop.call(`${url}?planId=big`, { headers: { authorization } })).status).toBe(400)
  expect((await shop.call(url, { headers: { authorization: 'Bearer abc' } })).status).toBe(401)
})

test('where no plan grants credits there is no balance', async () => {
  const without = await startRoutesWorld()
  try {
    const missing = await answerOf(await fetch(`${without.world.baseUrl}/x402/credits`))
    expect(missing.status).toBe(404)
    expect((missing.body as { endpoints?: string[] }).endpoints).not.toContain('GET /x402/credits')
  } finally {
    await without.stop()
  }
})
