import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SvcPayment } from '../../src/protocol/access.ts'
import { eventually, PRICE, type Strategy, startWorld, type World } from './world.ts'

// Both strategies at once, beside the test that waits; within one, tests go in turn.
describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])('onPaymentReceived by %s', (strategy) => {
  let world: World
  const told: SvcPayment[] = []
  beforeAll(async () => {
    world = await startWorld({
      strategy,
      options: {
        onPaymentReceived: (payment) => {
          told.push(payment)
          if (payment.requestId.startsWith('throws')) throw new Error('the seller’s own bug')
          // A hook that never returns does not hold up anything.
          if (payment.requestId.startsWith('hangs')) return new Promise(() => undefined)
        },
      },
    })
  })
  afterAll(() => world.stop())

  const toldOf = (requestId: string) => told.filter((payment) => payment.requestId === requestId)

  test.sequential('is called once for a payment, however often it is replayed', async () => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const body = { planId: 'basic', requestId: 'fine', resourceId: 'maps' }
    const required = await world.terms(body)
    expect(toldOf('fine'), 'not before it is paid').toEqual([])
    const header = await world.sign(buyer, required.accepts[0]!)
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.pay(header, body)))
    await eventually(() => toldOf('fine').length > 0)
    await world.pay(header, body)
    expect(toldOf('fine')).toEqual([
      {
        txHash: answers[0]!.body.txHash,
        explorerUrl: answers[0]!.body.explorerUrl,
        payer: buyer.address.toLowerCase(),
        amount: String(PRICE),
        network: 'eip155:84532',
        planId: 'basic',
        resourceId: 'maps',
        challengeId: required.challengeId,
        requestId: 'fine',
      },
    ])
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test.sequential.each(['throws', 'hangs'])('one that %s does not harm the buyer', async (how) => {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const bought = await world.buy(buyer, { planId: 'basic', requestId: how })
    expect(bought).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
    await eventually(() => toldOf(how).length > 0)
    if (how === 'throws') {
      const alert = await eventually(() => world.alerts.find(({ kind }) => kind === 'hook-failed'))
      expect(alert.message).toContain(bought.body.challengeId)
    }
    expect(await world.status(bought.body.challengeId!)).toMatchObject({ state: 'DELIVERED' })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})

test.concurrent('a hook that failed is called again, until it returns', async () => {
  const told: string[] = []
  const world = await startWorld({
    options: {
      onPaymentReceived: ({ challengeId }) => {
        told.push(challengeId)
        if (told.length === 1) throw new Error('the seller’s database is away')
      },
    },
  })
  try {
    const buyer = await world.chain.newBuyer({ micro: PRICE })
    const { body } = await world.buy(buyer)
    await eventually(() => told.length === 2)
    expect(told).toEqual([body.challengeId, body.challengeId])
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  } finally {
    await world.stop()
  }
})
