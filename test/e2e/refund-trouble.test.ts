import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { usdcAbi } from '../../src/testing/index.ts'
import { eventually, PRICE, startWorld, type World } from './world.ts'

const failingDelivery = {
  tokenSecret: undefined,
  fetchResourceCredentials: () => Promise.reject(new Error('no licences left')),
}

/** The seller spends everything it has. */
async function drainSeller({ chain, seller }: World): Promise<void> {
  await chain.client.writeContract({
    address: chain.usdc,
    abi: usdcAbi,
    functionName: 'transfer',
    args: [chain.account(9).address, await chain.balanceOf(seller.address)],
    account: seller.address,
  })
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
    expect(await poor.gateway.retryRefund(challengeId), 'nothing is left to retry').toMatchObject({
      code: 'INVALID_REQUEST',
    })
    expect(await poor.flows(buyer)).toEqual({ paid: [PRICE], refunded: [PRICE] })
    expect(await poor.chain.balanceOf(buyer.address)).toBe(PRICE)
    expect(await poor.sellerBalance()).toBe(0n)
  })

  test('without a refund key the refund waits and the operator is told; with one, it is paid', async () => {
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
