import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { usdcAbi } from '../../src/testing/index.ts'
import { eventually, PRICE, type Strategy, startWorld, type World } from './world.ts'

const PRO = 2_500_000n

describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])('a failed delivery by %s', (strategy) => {
  let world: World
  const revoked: string[] = []
  beforeAll(async () => {
    world = await startWorld({
      strategy,
      store: 'embedded',
      options: {
        tokenSecret: undefined,
        fetchResourceCredentials: (planId) => {
          if (planId === 'pro') throw new Error('the licence server at 10.0.0.7 is down')
          return 'an-api-key'
        },
        onRefund: ({ refundTxHash }) => void revoked.push(refundTxHash),
      },
    })
  })
  afterAll(() => world.stop())

  test('the payment goes back to its payer exactly once, and nothing else is for sale with it', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRO })
    const books = await world.ledger(buyer)
    const body = { planId: 'pro', requestId: `refund-${strategy}` }
    const required = await world.terms(body)
    const header = await world.sign(buyer, required.accepts[0]!)

    const failure = await world.pay(header, body)
    expect(failure).toMatchObject({
      status: 502,
      body: { type: 'Error', code: 'DELIVERY_FAILED', httpStatus: 502, refund: { state: 'REFUND_PENDING' } },
      receipt: { success: true },
    })
    const { txHash, message } = failure.body
    expect(failure.receipt?.transaction).toBe(txHash)
    expect(failure.headers.get('cache-control')).toBe('no-store, private')
    expect(message, 'the seller’s own words may hold secrets').not.toContain('10.0.0.7')
    expect(await books.changes()).toEqual({ seller: PRO, buyers: [-PRO] })

    expect(await world.pay(header, body)).toMatchObject({
      status: 410,
      body: { code: 'CHALLENGE_REFUNDED', refund: { state: 'REFUND_PENDING' } },
    })

    // No block is mined, so the payment is not final: the refund job, due every second, must hold back.
    const heldBackUntil = Date.now() + 3_000
    await eventually(() => Date.now() > heldBackUntil)
    expect(await world.flows(buyer)).toEqual({ paid: [PRO], refunded: [] })
    const refunded = await world.until(required.challengeId, 'REFUNDED')
    expect(refunded).toMatchObject({ txHash, refundTxHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
    expect(await world.flows(buyer)).toEqual({ paid: [PRO], refunded: [PRO] })
    const [paid, back] = await Promise.all(
      [txHash, refunded.refundTxHash].map((hash) =>
        world.chain.client.getTransactionReceipt({ hash: hash as Hex }),
      ),
    )
    expect(back!.blockNumber, 'sent once the payment is final').toBeGreaterThanOrEqual(paid!.blockNumber + 2n)

    // A new life of the gateway looks at everything again, and finds nothing left to do.
    await world.restart()
    const again = await world.pay(header, body)
    expect(again).toMatchObject({
      status: 410,
      body: {
        code: 'CHALLENGE_REFUNDED',
        refund: { state: 'REFUNDED', txHash: refunded.refundTxHash },
        statusUrl: `${world.baseUrl}/x402/challenges/${required.challengeId}`,
      },
    })
    expect((await world.access(body)).body.code, 'unpaid, with the same requestId').toBe('CHALLENGE_REFUNDED')
    const anew = await world.sign(buyer, required.accepts[0]!)
    expect((await world.pay(anew, body)).body.code, 'a new authorization').toBe('CHALLENGE_REFUNDED')
    expect(await eventually(() => revoked[0])).toBe(refunded.refundTxHash)

    expect(await world.flows(buyer)).toEqual({ paid: [PRO], refunded: [PRO] })
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
    expect(await world.chain.balanceOf(world.chain.account(1).address), 'the gas wallet').toBe(0n)
  })
})

const failingDelivery = {
  tokenSecret: undefined,
  fetchResourceCredentials: () => Promise.reject(new Error('no licences left')),
}

/** The seller spends everything it has. */
async function drainSeller({ chain, seller }: World): Promise<void> {
  const hash = await chain.client.writeContract({
    address: chain.usdc,
    abi: usdcAbi,
    functionName: 'transfer',
    args: [chain.account(9).address, await chain.balanceOf(seller.address)],
    account: seller.address,
  })
  await chain.client.waitForTransactionReceipt({ hash })
}

describe.concurrent('a refund that meets trouble', () => {
  let poor: World
  let keyless: World
  beforeAll(async () => {
    poor = await startWorld({ options: failingDelivery })
    keyless = await startWorld({
      store: 'embedded',
      options: { ...failingDelivery, refundWalletPrivateKey: undefined },
    })
  })
  afterAll(async () => {
    await poor.stop()
    await keyless.stop()
  })

  test('an empty seller wallet is retried, then needs the operator, who pays it by one retry', async () => {
    const buyer = await poor.chain.newBuyer({ micro: PRICE })
    const { status, body } = await poor.buy(buyer, { planId: 'basic', requestId: 'poor' })
    expect({ status, code: body.code }).toEqual({ status: 502, code: 'DELIVERY_FAILED' })
    await drainSeller(poor)
    const challengeId = body.statusUrl!.split('/').at(-1)!

    const failed = await poor.until(challengeId, 'REFUND_FAILED')
    expect(failed.refundTxHash).toBeUndefined()
    expect(poor.alerts.filter(({ kind }) => kind === 'refund-failed')).toMatchObject([
      { message: expect.stringContaining(`refund of ${PRICE} to ${buyer.address.toLowerCase()}`) },
    ])
    expect(await poor.access({ planId: 'basic', requestId: 'poor' })).toMatchObject({
      status: 410,
      body: { code: 'CHALLENGE_REFUNDED', refund: { state: 'REFUND_FAILED' } },
    })
    expect(await poor.chain.balanceOf(buyer.address)).toBe(0n)

    await poor.chain.mint(poor.seller.address, PRICE)
    expect(await poor.gateway.retryRefund(challengeId)).toMatchObject({ state: 'REFUND_PENDING' })
    await poor.until(challengeId, 'REFUNDED')
    await expect(poor.gateway.retryRefund(challengeId), 'nothing is left to retry').rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    })
    expect(await poor.flows(buyer)).toEqual({ paid: [PRICE], refunded: [PRICE] })
    expect(await poor.chain.balanceOf(buyer.address)).toBe(PRICE)
    expect(await poor.sellerBalance()).toBe(0n)
  })

  test('without a refund key the refund waits and the operator gets an alert; with one, it is paid', async () => {
    const buyer = await keyless.chain.newBuyer({ micro: PRICE })
    const { body } = await keyless.buy(buyer)
    const challengeId = body.statusUrl!.split('/').at(-1)!
    const told = await eventually(async () => {
      await keyless.chain.mine()
      return keyless.alerts.find(({ kind }) => kind === 'refund-key-missing')
    })
    expect(told.message).toContain('refundWalletPrivateKey')
    expect(await keyless.status(challengeId)).toMatchObject({ state: 'REFUND_PENDING' })
    expect(await keyless.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    expect(await keyless.sellerBalance()).toBe(PRICE)

    await keyless.restart({ refundWalletPrivateKey: keyless.seller.privateKey })
    await keyless.until(challengeId, 'REFUNDED')
    expect(await keyless.flows(buyer)).toEqual({ paid: [PRICE], refunded: [PRICE] })
    expect(await keyless.sellerBalance()).toBe(0n)
  })
})
