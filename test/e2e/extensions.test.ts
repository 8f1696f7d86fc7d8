import { ExactEvmScheme } from '@x402/evm'
import {
  extractDiscoveryInfoFromExtension,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from '@x402/extensions/bazaar'
import {
  appendPaymentIdentifierToExtensions,
  generatePaymentId,
  validatePaymentIdentifier,
} from '@x402/extensions/payment-identifier'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { paymentRequired } from '../../src/dialects/x402/render-offer.ts'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired } from '../../src/protocol/payment.ts'
import type { DevAccount } from '../../src/testing/index.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld } from './routes-world.ts'
import { type Answer, answerOf, PRICE } from './world.ts'

let shop: RoutesWorld
beforeAll(async () => {
  shop = await startRoutesWorld()
})
afterAll(() => shop.stop())

/** The unmodified official client, with its own hook for payment ids. */
function officialClient(buyer: DevAccount, id: string) {
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(buyer.account))
  client.onBeforePaymentCreation(async ({ paymentRequired }) => {
    appendPaymentIdentifierToExtensions(paymentRequired.extensions ?? {}, id)
  })
  return wrapFetchWithPayment(fetch, client)
}

async function buyNamed(buyer: DevAccount, id: string, body: object = { planId: 'basic' }): Promise<Answer> {
  const response = await officialClient(buyer, id)(`${shop.world.baseUrl}/x402/access`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return answerOf(response)
}

/** A payment for these terms that names itself. */
async function payNamed(buyer: DevAccount, terms: PaymentRequired, id: string): Promise<string> {
  const payload = decodeJsonObject(await shop.world.sign(buyer, terms.accepts[0]!))
  const extensions = { 'payment-identifier': { info: { required: false, id } } }
  return Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64')
}

describe('payment-identifier', () => {
  test('names the purchase; called again with another signature, the official client is not charged again', async () => {
    const { world } = shop
    const buyer = await world.chain.newBuyer({ micro: 3n * PRICE })
    const id = generatePaymentId()
    const first = await buyNamed(buyer, id)
    expect(first).toMatchObject({ status: 200, body: { type: 'AccessGrant', requestId: id } })
    const again = await buyNamed(buyer, id)
    expect(again).toMatchObject({ status: 200, body: { requestId: id, txHash: first.body.txHash } })
    expect(again.headers.get('x-svc-code')).toBe('PROOF_ALREADY_REDEEMED')
    expect(again.receipt).toMatchObject({ success: true, transaction: first.body.txHash })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('ten concurrent payments under one id are one payment', async () => {
    const { world } = shop
    const buyer = await world.chain.newBuyer({ micro: 10n * PRICE })
    const id = generatePaymentId()
    const answers = await Promise.all(Array.from({ length: 10 }, () => buyNamed(buyer, id)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(new Set(answers.map(({ body }) => body.txHash)).size).toBe(1)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('which an earlier offer got by a payment that failed: what pays under it is answered again by its own payload', async () => {
    const { world } = shop
    const buyer = await world.chain.newBuyer({ micro: 0n })
    const id = generatePaymentId()
    const early = await world.pay(await payNamed(buyer, await world.terms(), id))
    expect(early.status).toBe(402)
    await world.chain.mint(buyer.address, 2n * PRICE)
    const header = await payNamed(buyer, await world.terms(), id)
    const first = await world.pay(header)
    expect(first).toMatchObject({ status: 200, body: { requestId: id } })
    expect(await world.pay(header)).toMatchObject({ status: 200, body: { txHash: first.body.txHash } })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('is found again by an unpaid request of that name, as any requestId', async () => {
    const { world } = shop
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const id = generatePaymentId()
    const { body } = await buyNamed(buyer, id)
    const { status, body: asked } = await world.access({ planId: 'basic', requestId: id })
    expect({ status, challengeId: asked.challengeId }).toEqual({
      status: 402,
      challengeId: body.challengeId,
    })
    expect(asked.error).toMatch(/is paid/)
  })

  test('one id for two purchases, or of another payer, is refused and not charged', async () => {
    const { world } = shop
    const [buyer, other] = await Promise.all([
      world.chain.newBuyer({ micro: 5n * PRICE }),
      world.chain.newBuyer({ micro: 5n * PRICE }),
    ])
    const id = generatePaymentId()
    expect((await buyNamed(buyer, id)).status).toBe(200)
    const pro = await world.terms({ planId: 'pro' })
    expect(await world.pay(await payNamed(buyer, pro, id))).toMatchObject({
      status: 400,
      body: { code: 'INVALID_REQUEST' },
    })
    expect(await buyNamed(other, id)).toMatchObject({ status: 400, body: { code: 'INVALID_PROOF' } })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    expect(await world.flows(other)).toEqual({ paid: [], refunded: [] })
  })

  test('an id that contradicts requestId is 400, wherever requestId was said', async () => {
    const { world } = shop
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const id = generatePaymentId()
    expect(await buyNamed(buyer, id, { planId: 'basic', requestId: 'said-in-body' })).toMatchObject({
      status: 400,
      body: { code: 'INVALID_REQUEST', message: expect.stringContaining('payment-identifier') },
    })
    // Said when the terms were asked for; the payment itself brings only its echo.
    const terms = await world.terms({ planId: 'basic', requestId: 'said-before' })
    expect(await world.pay(await payNamed(buyer, terms, id))).toMatchObject({
      status: 400,
      body: { code: 'INVALID_REQUEST', message: expect.stringContaining('said-before') },
    })
    const short = await world.terms()
    expect(await world.pay(await payNamed(buyer, short, 'no blanks'))).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/payment-identifier.info.id must be 1 to 128 characters/) },
    })
    expect(await world.flows(buyer)).toEqual({ paid: [], refunded: [] })
  })

  test('the same payload brings the same result; under another id it is used already', async () => {
    const { world } = shop
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const header = await payNamed(buyer, await world.terms(), generatePaymentId())
    const first = await world.pay(header)
    const replay = await world.pay(header)
    expect([first.status, replay.status, replay.body.txHash]).toEqual([200, 200, first.body.txHash])
    const payload = decodeJsonObject(header)!
    const extensions = { 'payment-identifier': { info: { id: generatePaymentId() } } }
    const renamed = Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64')
    expect(await world.pay(renamed)).toMatchObject({ status: 409, body: { code: 'TX_ALREADY_REDEEMED' } })
  })

  test('names a stored challenge that the buyer has not named', async () => {
    const { world } = shop
    const buyer = await world.chain.newBuyer({ micro: 3n * PRICE })
    const id = generatePaymentId()
    const opened = await world.gateway.purchase({ transport: 'a2a', planId: 'basic' })
    if (opened.kind !== 'challenge') throw new Error(`expected a challenge, got ${opened.kind}`)
    const header = await payNamed(buyer, paymentRequired(opened.offer, world.baseUrl), id)
    const first = await world.pay(header)
    expect(first).toMatchObject({ status: 200, body: { requestId: id } })
    expect(await world.pay(header)).toMatchObject({ status: 200, body: { requestId: id } })
    expect(await buyNamed(buyer, id)).toMatchObject({ status: 200, body: { txHash: first.body.txHash } })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('without terms of ours a payment that failed can be repeated under its name', async () => {
    const { world } = shop
    const buyer = await world.chain.newBuyer()
    const id = generatePaymentId()
    const { accepted: _, ...payload } = decodeJsonObject(
      await payNamed(buyer, await world.terms(), id),
    ) as Record<string, unknown>
    const header = Buffer.from(JSON.stringify(payload)).toString('base64')
    expect(await world.pay(header, { planId: 'basic' })).toMatchObject({ status: 402 })
    await world.chain.mint(buyer.address, PRICE)
    expect(await world.pay(header, { planId: 'basic' })).toMatchObject({
      status: 200,
      body: { requestId: id },
    })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('is free again once its challenge was closed unpaid', async () => {
    const { world } = shop
    const buyer = await world.chain.newBuyer()
    const id = generatePaymentId()
    const terms = await world.terms()
    expect((await world.pay(await payNamed(buyer, terms, id))).status).toBe(402)
    const closed = await world.gateway.cancel(terms.challengeId, 'operator')
    expect(closed).toMatchObject({ state: 'CANCELLED', requestId: id })
    await world.chain.mint(buyer.address, PRICE)
    expect(await buyNamed(buyer, id)).toMatchObject({ status: 200, body: { requestId: id } })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('names a direct call of a route as well', async () => {
    const { world, backend } = shop
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const id = generatePaymentId()
    const before = backend.seen.length
    const call = async () => answerOf(await officialClient(buyer, id)(`${world.baseUrl}/weather/oslo`))
    const first = await call()
    expect(first).toMatchObject({ status: 200, body: { type: 'ResourceResponse', requestId: id } })
    expect(await call()).toMatchObject({ status: 200, body: { txHash: first.body.txHash } })
    expect(backend.seen.length).toBe(before + 1)
    expect(await world.flows(buyer)).toEqual({ paid: [CALL_PRICE], refunded: [] })
  })
})

describe('the extensions of a 402', () => {
  type Bazaar = Parameters<typeof validateDiscoveryExtension>[0]

  test('the header, which clients echo, has the offer of payment ids, how to call and, for a plan, to sign in, in few bytes', async () => {
    for (const [terms, more] of [
      [await shop.world.terms(), ['sign-in-with-x']],
      [await shop.termsOf('/weather/oslo'), []],
    ] as const) {
      const { extensions } = terms as unknown as { extensions: { bazaar: Bazaar } }
      expect(Object.keys(extensions)).toEqual(['payment-identifier', 'bazaar', ...more])
      expect(extensions).toHaveProperty('payment-identifier', { info: { required: false }, schema: {} })
      expect(validateDiscoveryExtension(extensions.bazaar)).toEqual({ valid: true })
      expect(JSON.stringify(extensions).length).toBeLessThan(400 + 300 * more.length)
    }
  })

  test('the body has bazaar metadata of every plan and route, valid for the official validator', async () => {
    const bodies = [
      (await shop.world.access({ planId: 'basic' })).body,
      (await shop.world.access({ planId: 'pro' })).body,
      (await shop.call('/weather/oslo')).body,
      (await shop.call('/report', { method: 'POST' })).body,
      (await shop.world.access({ routeId: 'weather', resource: { method: 'GET', path: '/weather/rome' } }))
        .body,
    ]
    const found = bodies.map((body) => {
      const extensions = body.extensions as { bazaar: Bazaar; 'payment-identifier': object }
      expect(validatePaymentIdentifier(extensions['payment-identifier'])).toEqual({ valid: true })
      expect(validateDiscoveryExtension(extensions.bazaar)).toEqual({ valid: true })
      expect(validateDiscoveryExtensionSpec(extensions.bazaar as never)).toMatchObject({ valid: true })
      const { input } = extractDiscoveryInfoFromExtension(extensions.bazaar) as { input: object }
      return { ...input, template: (extensions.bazaar as { routeTemplate?: string }).routeTemplate }
    })
    expect(found).toMatchObject([
      { method: 'POST', body: { planId: 'basic' } },
      { method: 'POST', body: { planId: 'pro' } },
      { method: 'GET', pathParams: { city: ':city' }, template: '/weather/:city' },
      { method: 'POST', bodyType: 'json' },
      { method: 'GET', template: '/weather/:city' },
    ])
  })
})
