import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
})
