import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DevAccount } from '../../src/testing/index.ts'
import { eventually, PRICE, startWorld, type World } from './world.ts'

const failingDelivery = {
  tokenSecret: undefined,
  fetchResourceCredentials: () => Promise.reject(new Error('no licences left')),
}

/** Pays for something that is not delivered; answers the challenge whose refund is owed. */
async function buyInVain(world: World, buyer: DevAccount): Promise<string> {
  const { status, body } = await world.buy(buyer)
  expect({ status, code: body.code }).toEqual({ status: 502, code: 'DELIVERY_FAILED' })
  return body.statusUrl!.split('/').at(-1)!
}

async function senderOf({ chain }: World, hash: string | undefined): Promise<string> {
  const { from } = await chain.client.getTransaction({ hash: hash as Hex })
  return from.toLowerCase()
}

const refusals = ({ alerts }: World) => alerts.filter(({ kind }) => kind === 'refund-refused')

describe.concurrent('a facilitator that refuses refunds', () => {
  let world: World
  let poor: World
  let refundWallet: DevAccount
  beforeAll(async () => {
    world = await startWorld({ strategy: 'facilitator', store: 'embedded', options: failingDelivery })
    poor = await startWorld({ strategy: 'facilitator', options: failingDelivery })
    refundWallet = await poor.chain.newBuyer({ micro: 10n * PRICE })
    await poor.restart({ refundWalletPrivateKey: refundWallet.privateKey })
  })
  afterAll(async () => {
    await world.stop()
    await poor.stop()
  })

  test('is not needed: a refund wallet that holds ETH sends the refund itself, once', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const challengeId = await buyInVain(world, buyer)
    world.facilitator!.faults.always('settle', 'refuse')
    const { refundTxHash } = await world.until(challengeId, 'REFUNDED')
    expect(await senderOf(world, refundTxHash)).toBe(world.seller.address.toLowerCase())
    // A new life has nothing left to do.
    await world.restart()
    await world.chain.mine(3)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [PRICE] })
    expect(refusals(world)).toEqual([])
  })

  test('raises an alert at its first refusal, and once the refund wallet gets ETH the refund is paid', async () => {
    const earlier = await buyInVain(poor, await poor.chain.newBuyer({ micro: PRICE }))
    const sent = await poor.until(earlier, 'REFUNDED')
    expect(await senderOf(poor, sent.refundTxHash)).toBe(poor.facilitator!.address.toLowerCase())

    const buyer = await poor.chain.newBuyer({ micro: PRICE })
    const challengeId = await buyInVain(poor, buyer)
    poor.facilitator!.faults.always('settle', 'refuse')
    const asked = poor.facilitator!.calls.settle
    const told = await eventually(async () => {
      await poor.chain.mine()
      return refusals(poor)[0]
    })
    for (const part of [challengeId, 'refused_by_test', refundWallet.address.toLowerCase(), 'ETH']) {
      expect(told.message).toContain(part)
    }
    expect(await poor.status(challengeId)).toMatchObject({ state: 'REFUND_PENDING' })
    await eventually(() => poor.facilitator!.calls.settle >= asked + 3)
    expect(refusals(poor), 'asked again and again, and said once').toHaveLength(1)
    await poor.chain.fundEth(refundWallet.address, 10n ** 18n)
    const { refundTxHash } = await poor.until(challengeId, 'REFUNDED')
    expect(await senderOf(poor, refundTxHash)).toBe(refundWallet.address.toLowerCase())
    expect(await poor.chain.balanceOf(buyer.address)).toBe(PRICE)
    expect(await poor.chain.balanceOf(refundWallet.address)).toBe(8n * PRICE)
    expect(refusals(poor)).toHaveLength(1)
  })
})

describe('refunds by the gas wallet', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({
      store: 'embedded',
      options: { ...failingDelivery, refundWalletPrivateKey: undefined },
    })
  })
  afterAll(() => world.stop())

  test('that wait together share a transaction', async () => {
    const buyers = await Promise.all([0, 1, 2].map(() => world.chain.newBuyer({ micro: PRICE })))
    const challenges = await Promise.all(buyers.map((buyer) => buyInVain(world, buyer)))
    await eventually(async () => {
      await world.chain.mine()
      return world.alerts.some(({ message }) => message.startsWith('3 refunds wait'))
    })
    await world.restart({ refundWalletPrivateKey: world.seller.privateKey })
    const refunded = await Promise.all(challenges.map((id) => world.until(id, 'REFUNDED')))
    const hashes = new Set(refunded.map(({ refundTxHash }) => refundTxHash))
    expect(hashes.size).toBe(1)
    expect(await senderOf(world, [...hashes][0])).toBe(world.chain.account(1).address.toLowerCase())
    for (const buyer of buyers) expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [PRICE] })
  })

  test('are sent by the refund wallet when the gas wallet is empty and that holds ETH', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const challengeId = await buyInVain(world, buyer)
    await world.chain.fundEth(world.chain.account(1).address, 0n)
    const { refundTxHash } = await world.until(challengeId, 'REFUNDED')
    expect(await senderOf(world, refundTxHash)).toBe(world.seller.address.toLowerCase())
    expect(world.alerts.map(({ kind }) => kind)).toContain('gas-wallet-empty')
  })
})
