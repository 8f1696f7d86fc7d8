import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createBuyer } from '../../src/buyer/index.ts'
import { paymentHeader, signAuthorization } from '../../src/testing/index.ts'
import { answerOf, PRICE, type Strategy, startWorld, type World } from './world.ts'

describe.each<Strategy>(['gas-wallet', 'facilitator'])('buying a plan by %s', (strategy) => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({ strategy, store: 'embedded' })
  })
  afterAll(() => world.stop())

  test('a buyer that follows the specification to the letter pays once and can use the token', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const before = await world.sellerBalance()
    const { status, body, receipt, headers } = await world.buy(buyer, {
      planId: 'basic',
      requestId: 'spec-1',
    })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        type: 'AccessGrant',
        tokenType: 'Bearer',
        planId: 'basic',
        requestId: 'spec-1',
        resourceId: 'default',
      },
    })
    expect(receipt).toMatchObject({ success: true, transaction: body.txHash, network: 'eip155:84532' })
    expect(headers.get('cache-control')).toBe('no-store, private')
    expect(await world.gateway.verifyBearer(`Bearer ${body.accessToken}`)).toMatchObject({ ok: true })
    expect(await world.chain.balanceOf(buyer.address)).toBe(4n * PRICE)
    expect(await world.sellerBalance()).toBe(before + PRICE)
  })

  test('the unmodified official client buys with no code of ours', async () => {
    const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
    const client = new x402Client()
    client.register('eip155:*', new ExactEvmScheme(buyer.account))
    const pay = wrapFetchWithPayment(fetch, client)
    const response = await pay(`${world.baseUrl}/x402/access`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ planId: 'basic' }),
    })
    const { status, body } = await answerOf(response)
    expect(status).toBe(200)
    expect(body.type).toBe('AccessGrant')
    expect(await world.chain.balanceOf(buyer.address)).toBe(4n * PRICE)
  })

  test('a header in base64url, hex in upper case, or only the header and no body at all buy as well', async () => {
    const buyer = await world.chain.newBuyer({ micro: 3n * PRICE })
    const before = await world.sellerBalance()
    const newPayload = async () => {
      const accepted = (await world.terms()).accepts[0]!
      const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
      return { accepted, ...signed }
    }
    const urlSafe = await world.pay(paymentHeader({ ...(await newPayload()), encoding: 'base64url' }), {
      planId: 'basic',
    })
    const { accepted, authorization, signature } = await newPayload()
    const shout = (hex: string) => `0x${hex.slice(2).toUpperCase()}` as Hex
    const upper = paymentHeader({
      accepted: { ...accepted, payTo: shout(accepted.payTo), asset: shout(accepted.asset) },
      authorization: {
        ...authorization,
        from: shout(authorization.from),
        to: shout(authorization.to),
        nonce: shout(authorization.nonce),
      },
      signature: shout(signature),
    })
    const shouted = await world.pay(upper, { planId: 'basic' })
    const bodiless = await answerOf(
      await fetch(`${world.baseUrl}/x402/access`, {
        method: 'POST',
        headers: { 'payment-signature': paymentHeader(await newPayload()) },
      }),
    )
    for (const { status, body } of [urlSafe, shouted, bodiless]) {
      expect({ status, type: body.type, planId: body.planId }).toEqual({
        status: 200,
        type: 'AccessGrant',
        planId: 'basic',
      })
    }
    expect(await world.chain.balanceOf(buyer.address)).toBe(0n)
    expect(await world.sellerBalance()).toBe(before + 3n * PRICE)
  })

  test('a payment without terms of ours buys at the current price in one step', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const accepted = (await world.terms()).accepts[0]!
    const { authorization, signature } = await signAuthorization({
      account: buyer.account,
      requirements: accepted,
    })
    const payload = { x402Version: 2, payload: { authorization, signature } }
    const header = Buffer.from(JSON.stringify(payload)).toString('base64')
    const { status, body } = await world.pay(header, { planId: 'basic', requestId: 'one-step' })
    expect({ status, body }).toMatchObject({ status: 200, body: { requestId: 'one-step', planId: 'basic' } })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('a smart-contract wallet (EIP-1271) pays with its owner’s signature', async () => {
    const owner = await world.chain.newBuyer()
    const wallet = await world.chain.deployWallet1271(owner.address)
    await world.chain.mint(wallet.address, 5n * PRICE)
    const before = await world.sellerBalance()
    const required = await world.terms()
    const header = await world.sign(owner, required.accepts[0]!, { from: wallet.address })
    const { status, body, receipt } = await world.pay(header)
    expect({ status, body }).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
    expect(receipt?.payer).toBe(wallet.address.toLowerCase())
    expect(await world.chain.balanceOf(wallet.address)).toBe(4n * PRICE)
    expect(await world.sellerBalance()).toBe(before + PRICE)
  })

  test('our own buyer buys within its limit, and pays nothing above it', async () => {
    const account = await world.chain.newBuyer({ micro: 5n * PRICE })
    const buyer = createBuyer({ account: account.account, maxAmount: '$1.00' })
    const { grant } = await buyer.buy(world.baseUrl, { planId: 'basic', requestId: `own-${strategy}` })
    expect(grant).toMatchObject({ type: 'AccessGrant', planId: 'basic' })
    await expect(buyer.buy(world.baseUrl, { planId: 'pro' })).rejects.toThrow(/1\.00/)
    expect(await world.flows(account)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('our own buyer, refused for want of money, buys under the same requestId once it has some, and pays once', async () => {
    const account = await world.chain.newBuyer()
    let movedMs = 0
    const { buy } = createBuyer({
      account: account.account,
      maxAmount: '$1.00',
      validSeconds: 60,
      rpcUrls: { [world.chain.network]: world.chain.rpcUrl },
      clock: {
        now: () => Date.now() + movedMs,
        sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      },
    })
    const order = { planId: 'basic', requestId: `poor-${strategy}` }
    await expect(buy(world.baseUrl, order)).rejects.toMatchObject({ code: 'PAYMENT_FAILED' })
    await world.chain.mint(account.address, 2n * PRICE)
    movedMs = 100_000
    await world.chain.increaseTime(100)
    expect((await buy(world.baseUrl, order)).grant).toMatchObject({ type: 'AccessGrant' })
    expect(await world.flows(account)).toEqual({ paid: [PRICE], refunded: [] })
  })
})
