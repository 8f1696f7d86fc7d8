import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { usdcAbi } from '../../src/testing/index.ts'
import { type AskDashboard, startDashboard } from './dashboard-world.ts'
import type { RoutesWorld } from './routes-world.ts'
import { PRICE } from './world.ts'

describe('a refund that the operator pays by hand', () => {
  let routes: RoutesWorld
  let ask: AskDashboard
  const failing = {
    tokenSecret: undefined,
    fetchResourceCredentials: () => Promise.reject(new Error('no licences left')),
  }
  beforeAll(async () => {
    ;({ routes, ask } = await startDashboard({ options: failing }))
  })
  afterAll(() => routes.stop())

  test('REFUND_FAILED becomes REFUNDED by a final, exact, unused transfer and by nothing else', async () => {
    const { world } = routes
    const { chain, seller } = world
    const helper = chain.account(9)
    const transfer = async (to: `0x${string}`, micro: bigint) => {
      const args = [to, micro] as const
      const call = { address: chain.usdc, abi: usdcAbi, functionName: 'transfer', args } as const
      return chain.client.writeContract({ ...call, account: helper.address })
    }
    const buyers = await Promise.all([chain.newBuyer({ micro: PRICE }), chain.newBuyer({ micro: PRICE })])
    const early = await (async () => {
      await chain.mint(helper.address, PRICE)
      return transfer(buyers[0].address, PRICE)
    })()
    const ids = await Promise.all(
      buyers.map(async (buyer) => (await world.buy(buyer)).body.statusUrl!.split('/').at(-1)!),
    )
    const drained = await chain.client.writeContract({
      address: chain.usdc,
      abi: usdcAbi,
      functionName: 'transfer',
      args: [chain.account(8).address, await chain.balanceOf(seller.address)],
      account: seller.address,
    })
    await chain.client.waitForTransactionReceipt({ hash: drained })
    for (const id of ids) await world.until(id, 'REFUND_FAILED')
    expect((await ask('/overview')).body).toMatchObject({
      refunds: { waiting: 0, failed: 2 },
      wallets: [{}, {}, { role: 'refund', level: 'error' }],
    })

    const resolve = (id: string, txHash: unknown) => ask(`/challenges/${id}/resolve-refund`, { txHash })
    const [first, second] = ids as [string, string]
    expect((await resolve(first, undefined)).status).toBe(400)
    expect((await resolve(first, '0x12')).body.error).toContain('64 hex digits')
    expect((await resolve(first, `0x${'ab'.repeat(32)}`)).body.error).toContain('in no block')
    await chain.mint(helper.address, 3n * PRICE)
    const short = await transfer(buyers[0].address, PRICE - 1n)
    await chain.mine(3)
    expect((await resolve(first, short)).body.error).toContain(`${PRICE} micro-units`)
    expect((await resolve(first, early)).body.error).toContain('older than the payment')

    const paid = await transfer(buyers[0].address, PRICE)
    expect((await resolve(first, paid)).body.error).toContain('not final yet')
    await chain.mine(3)
    expect((await resolve(second, paid)).body.error, 'another payer').toContain('no plain transfer')
    expect(await resolve(first, paid.toUpperCase().replace('0X', '0x'))).toMatchObject({
      status: 200,
      body: { state: 'REFUNDED', refundTxHash: paid },
    })
    expect(await resolve(first, paid), 'twice').toMatchObject({ status: 409 })
    expect(await ask(`/challenges/${first}/retry-refund`, {})).toMatchObject({ status: 409 })
    expect((await ask('/overview')).body).toMatchObject({
      funnel: { refunded: 1 },
      refunds: { waiting: 0, failed: 1 },
    })
    expect(await world.flows(buyers[0]), 'the gateway itself sent nothing').toMatchObject({ refunded: [] })

    // The other one is retried instead, once the seller has money again.
    await chain.mint(seller.address, PRICE)
    expect((await ask(`/challenges/${second}/retry-refund`, {})).status).toBe(200)
    await world.until(second, 'REFUNDED')
    expect(await world.flows(buyers[1])).toEqual({ paid: [PRICE], refunded: [PRICE] })
  })
})
