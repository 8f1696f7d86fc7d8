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
  shop = await startRoutesWorld({ store: 'embedded', options: { routes: ROUTES }, proxied: true })
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

test.each([
  ['a percentage', { amount: '50%' }, 10_000n],
  ['dollars', { amount: '$0.015' }, 15_000n],
  ['a number', { amount: 7 }, 7n],
  ['nothing at all', undefined, MAX],
  ['an object without amount', {}, MAX],
])('a charge may be %s', async (_, overrides, charge) => {
  answerWith(overrides)
  const buyer = await newBuyer()
  const { settled } = await callAs(buyer)
  expect(settled).toMatchObject({ success: true, amount: String(charge) })
  expect(await held(buyer.address)).toBe(5n * MAX - charge)
})

test("a rule of the route finds the charge in the answer; the backend's header goes before it", async () => {
  const buyer = await newBuyer()
  answerWith(undefined, { usage: { total_tokens: 929 } })
  expect((await callAs(buyer, '/tokens')).settled).toMatchObject({ amount: '1858' })
  answerWith(undefined, { usage: {} })
  expect((await callAs(buyer, '/tokens')).settled).toMatchObject({ amount: '0', transaction: '' })
  answerWith({ amount: '5' }, { usage: { total_tokens: 929 } })
  expect((await callAs(buyer, '/tokens')).settled).toMatchObject({ amount: '5' })
})

test('a charge of nothing is answered, without a transaction', async () => {
  answerWith({ amount: '0' })
  const buyer = await newBuyer()
  const header = await signAs(buyer)
  const init = { method: 'POST' }
  const first = await shop.call('/chat', init, header)
  expect(first).toMatchObject({ status: 200, body: { txHash: '', resource: { body: { text: 'hello' } } } })
  expect(decodeJsonObject(first.headers.get('payment-response')!)).toMatchObject({
    success: true,
    transaction: '',
    amount: '0',
  })
  const again = await shop.call('/chat', init, header)
  expect(again).toMatchObject({ status: 200, body: { resource: { body: { text: 'hello' } } } })
  expect(shop.backend.seen.length).toBe(1)
  expect(await held(buyer.address)).toBe(5n * MAX)
})

test('a charge above the maximum is the maximum, and the operator is told', async () => {
  answerWith({ amount: '20001' })
  const buyer = await newBuyer()
  expect((await callAs(buyer)).settled).toMatchObject({ success: true, amount: '20000' })
  expect(await held(buyer.address)).toBe(4n * MAX)
  expect(JSON.stringify(shop.world.alerts)).toContain('20001 is above the maximum')
})

test.each([
  ['no number', { amount: 'much' }],
  ['negative', { amount: '-1' }],
  ['a negative number', { amount: -1 }],
  ['no JSON', 'amount=5'],
  ['a list', { amount: ['5'] }],
])('a charge that is %s: the call counts as failed, and nothing is charged', async (_, overrides) => {
  answerWith(overrides)
  const buyer = await newBuyer()
  const { answer, settled } = await callAs(buyer)
  expect(settled).toMatchObject({ success: false, transaction: '', amount: '0' })
  expect(await answer.text()).not.toContain('hello')
  expect(JSON.stringify(shop.world.alerts)).toContain('is no amount')
  expect(await held(buyer.address)).toBe(5n * MAX)
})

test('a call that fails costs nothing; the same payment calls again', async () => {
  answerWith({ amount: '5' }, { oops: true }, 500)
  const buyer = await newBuyer()
  const header = await signAs(buyer)
  const failed = await shop.call('/chat', { method: 'POST' }, header)
  expect(failed.body.resource).toMatchObject({ status: 500 })
  expect(failed.body.refund).toBeUndefined()
  expect(decodeJsonObject(failed.headers.get('payment-response')!)).toMatchObject({
    success: false,
    transaction: '',
  })
  expect(await held(buyer.address)).toBe(5n * MAX)
  answerWith({ amount: '6' })
  const good = await shop.call('/chat', { method: 'POST' }, header)
  expect(decodeJsonObject(good.headers.get('payment-response')!)).toMatchObject({
    success: true,
    amount: '6',
  })
  expect(await held(buyer.address)).toBe(5n * MAX - 6n)
})

test('one payment in ten requests at once: one call, one charge, one answer', async () => {
  answerWith({ amount: '1858' })
  const buyer = await newBuyer()
  const header = await signAs(buyer)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => shop.call('/chat', { method: 'POST' }, header)),
  )
  for (const { status, body } of answers) {
    expect(status).toBe(200)
    expect(body.resource).toMatchObject({ body: { text: 'hello' } })
  }
  expect(new Set(answers.map(({ body }) => body.txHash)).size).toBe(1)
  expect(shop.backend.seen.length).toBe(1)
  expect(await held(buyer.address)).toBe(5n * MAX - 1858n)
})

test('a raw route gives the answer of the backend, without what it said about its cost', async () => {
  answerWith({ amount: '9' })
  const { answer, settled } = await callAs(await newBuyer(), '/raw')
  expect(await answer.json()).toEqual({ text: 'hello' })
  expect(answer.headers.get('settlement-overrides')).toBeNull()
  expect(settled).toMatchObject({ amount: '9' })
})

test('without an allowance it is 412 with how to mend it, and nothing is called', async () => {
  const buyer = await newBuyer(false)
  const header = await signAs(buyer)
  const refused = await shop.call('/chat', { method: 'POST' }, header)
  expect(refused).toMatchObject({ status: 412, body: { code: 'PERMIT2_ALLOWANCE_REQUIRED' } })
  expect(decodeJsonObject(refused.headers.get('payment-required')!)).toMatchObject({
    error: 'permit2_allowance_required',
  })
  expect(shop.backend.seen.length).toBe(0)
  answerWith({ amount: '3' })
  await approvePermit2(shop.world.chain, buyer)
  expect((await shop.call('/chat', { method: 'POST' }, header)).status).toBe(200)
  expect(await held(buyer.address)).toBe(5n * MAX - 3n)
})

test('an allowance that is gone after the call: no answer, and the next call is refused until it is back', async () => {
  const buyer = await newBuyer()
  const header = await signAs(buyer)
  shop.backend.answer = async (_call, response) => {
    await approvePermit2(shop.world.chain, buyer, 0n)
    response.writeHead(200, { 'settlement-overrides': '{"amount":"1858"}' }).end('secret')
  }
  const unpaid = await shop.call('/chat', { method: 'POST' }, header)
  expect(unpaid).toMatchObject({ status: 503, body: { code: 'SETTLEMENT_PENDING' } })
  expect(JSON.stringify(unpaid.body)).not.toContain('secret')
  const next = await shop.call('/chat', { method: 'POST' }, await signAs(buyer))
  expect(next.status).toBe(412)
  await approvePermit2(shop.world.chain, buyer, 10n * MAX)
  answerWith({ amount: '1' })
  await expect
    .poll(async () => (await shop.call('/chat', { method: 'POST' }, header)).status, { timeout: 30_000 })
    .toBe(200)
  expect(await held(buyer.address)).toBe(5n * MAX - 1858n)
  expect((await shop.call('/chat', { method: 'POST' }, await signAs(buyer))).status).toBe(200)
}, 60_000)

test.each([0, 300])(
  'calls of one payer that could cost more than it has are made one after another (RPC %i ms away)',
  async (delayMs) => {
    shop.world.proxy!.delay(delayMs)
    const buyer = await shop.world.chain.newBuyer({ micro: MAX })
    await approvePermit2(shop.world.chain, buyer)
    answerWith({ amount: '10' })
    const headers = await Promise.all(Array.from({ length: 12 }, () => signAs(buyer)))
    const answers = await Promise.all(headers.map((header) => shop.call('/chat', { method: 'POST' }, header)))
    shop.world.proxy!.delay(0)
    // What is left after the first does not cover the maximum. On a busy machine some give up waiting before they see that.
    const [first, ...others] = answers.map(({ status }) => status).sort()
    expect(first).toBe(200)
    expect(others.filter((status) => status !== 402 && status !== 429)).toEqual([])
    expect(shop.backend.seen.length).toBe(1)
    expect(await held(buyer.address)).toBe(MAX - 10n)
  },
  60_000,
)

test('a metered call is not offered by MPP, whose charge is of a fixed amount', async () => {
  const { status, headers } = await shop.call('/chat', { method: 'POST' })
  expect(status).toBe(402)
  expect(headers.get('www-authenticate')).toBeNull()
})

test('a payment that does not fit is refused before anything is called', async () => {
  const buyer = await newBuyer()
  const { accepts } = await shop.termsOf('/chat', { method: 'POST' })
  const terms = accepts[0]!
  expect(terms).toMatchObject({
    scheme: 'upto',
    amount: '20000',
    extra: { assetTransferMethod: 'permit2', facilitatorAddress: expect.stringMatching(/^0x/) },
  })
  expect(accepts.every(({ scheme }) => scheme === 'upto')).toBe(true)
  const other = shop.world.chain.account(7).address
  const changes: Array<[Record<string, unknown>, string]> = [
    [{ payTo: other }, 'INVALID_PROOF'],
    [{ asset: other }, 'INVALID_PROOF'],
    [{ amount: '19999' }, 'AMOUNT_MISMATCH'],
    [{ extra: { ...terms.extra, facilitatorAddress: other } }, 'INVALID_PROOF'],
    [{ maxTimeoutSeconds: 30 }, 'PAYMENT_FAILED'],
    [{ maxTimeoutSeconds: 9000 }, 'PAYMENT_FAILED'],
  ]
  for (const [change, code] of changes) {
    const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, {
      ...terms,
      ...change,
    } as never)
    const header = encodeJson({ x402Version: 2, accepted: terms, payload })
    expect((await shop.call('/chat', { method: 'POST' }, header)).body.code, JSON.stringify(change)).toBe(
      code,
    )
  }
  const { payload } = await new UptoEvmScheme(buyer.account).createPaymentPayload(2, terms as never)
  const signed = payload as unknown as { signature: string; permit2Authorization: Record<string, unknown> }
  const spoiled = [
    { ...signed, signature: `0x${'11'.repeat(65)}` },
    { ...signed, permit2Authorization: { ...signed.permit2Authorization, spender: other } },
    { ...signed, permit2Authorization: { ...signed.permit2Authorization, nonce: '1' } },
    { ...signed, permit2Authorization: { ...signed.permit2Authorization, deadline: 'never' } },
  ]
  for (const bad of spoiled) {
    const header = encodeJson({ x402Version: 2, accepted: terms, payload: bad })
    expect((await shop.call('/chat', { method: 'POST' }, header)).status).toBe(400)
  }
  const exact = await shop.world.sign(buyer, terms)
  expect((await shop.call('/chat', { method: 'POST' }, exact)).status).toBe(400)
  expect(shop.backend.seen.length).toBe(0)
  expect(await held(buyer.address)).toBe(5n * MAX)
})

test('a route that gets a fixed price while an offer is open: the offer is closed, nothing is called', async () => {
  const buyer = await newBuyer()
  const header = await signAs(buyer)
  // The offer is stored with the first call, which fails.
  answerWith({ amount: '5' }, {}, 500)
  expect((await shop.call('/chat', { method: 'POST' }, header)).body.resource?.status).toBe(500)
  const fixed: Route = { routeId: 'chat', method: 'POST', path: '/chat', unitAmount: '$0.01' }
  await shop.world.restart({ routes: [fixed, ...ROUTES.slice(1)] })
  const refused = await shop.call('/chat', { method: 'POST' }, header)
  expect([refused.status, refused.body.code]).toEqual([410, 'CHALLENGE_EXPIRED'])
  expect(JSON.stringify(refused.body)).toContain('no longer metered')
  expect([shop.backend.seen.length, await held(buyer.address)]).toEqual([1, 5n * MAX])
})
