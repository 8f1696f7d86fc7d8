import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, type Strategy, startWorld, type World } from './world.ts'

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
