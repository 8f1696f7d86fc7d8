import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PRICE, type Strategy, startWorld, type World } from './world.ts'

const DEARER = { plans: [{ planId: 'basic', unitAmount: '$2.00' }] }

// Both strategies at once: each waits most of its time. Within one, tests share a chain and go in turn.
describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])(
  'a gateway that is restarted, by %s',
  (strategy) => {
    let world: World
    beforeAll(async () => {
      world = await startWorld({ strategy, store: 'embedded', options: { settleWaitSeconds: 3 } })
    })
    afterAll(() => world.stop())

    test.sequential('still hands out what it sold, to its buyer alone, and charges nothing', async () => {
      const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
      const books = await world.ledger(buyer)
      const body = { planId: 'basic', requestId: 'kept' }
      const required = await world.terms(body)
      const header = await world.sign(buyer, required.accepts[0]!)
      const bought = await world.pay(header, body)
      expect(bought.status).toBe(200)
      await world.restart()
      const again = await world.pay(header, body)
      expect(again).toMatchObject({ status: 200, body: bought.body })
      expect(again.headers.get('x-svc-code')).toBe('PROOF_ALREADY_REDEEMED')
      expect(await world.gateway.verifyBearer(`Bearer ${bought.body.accessToken}`)).toMatchObject({
        ok: true,
      })
      expect((await world.pay(header, { planId: 'basic', requestId: 'else' })).status).toBe(409)
      expect((await world.access({ planId: 'pro', requestId: 'kept' })).status).toBe(400)
      expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
    })

    test.sequential('finishes a payment that was in flight, for one transfer', async () => {
      const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
      const books = await world.ledger(buyer)
      const required = await world.terms()
      const header = await world.sign(buyer, required.accepts[0]!)
      await world.chain.setAutomine(false)
      expect(await world.pay(header)).toMatchObject({ status: 503, body: { code: 'SETTLEMENT_PENDING' } })
      await world.restart()
      expect(await world.pay(header), 'still in flight').toMatchObject({ status: 503 })
      await world.chain.setAutomine(true)
      await world.until(required.challengeId, 'DELIVERED')
      expect(await world.pay(header)).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
      expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
    })

    // The last one: the price stays changed.
    test.sequential('honours open challenges at the price they were opened with, and asks the new one of others', async () => {
      const buyer = await world.chain.newBuyer({ micro: 10n * PRICE })
      const books = await world.ledger(buyer)
      const body = { planId: 'basic', requestId: 'old-price' }
      const [stored, recordless] = [await world.terms(body), await world.terms()]
      await world.restart(DEARER)
      expect((await world.terms(body)).accepts[0]!.amount, 'the same challenge').toBe(String(PRICE))
      for (const { accepts, challengeId } of [stored, recordless]) {
        const paid = await world.pay(await world.sign(buyer, accepts[0]!))
        expect(paid).toMatchObject({ status: 200, body: { challengeId } })
      }
      expect(await books.changes()).toEqual({ seller: 2n * PRICE, buyers: [-2n * PRICE] })

      const fresh = await world.terms()
      expect(fresh.accepts[0]!.amount).toBe(String(2n * PRICE))
      const cheap = { ...fresh.accepts[0]!, amount: String(PRICE) }
      expect(
        await world.pay(await world.sign(buyer, cheap)),
        'the old price for a new challenge',
      ).toMatchObject({
        status: 400,
        body: { code: 'AMOUNT_MISMATCH' },
      })
      expect((await world.pay(await world.sign(buyer, fresh.accepts[0]!))).status).toBe(200)
      expect(await books.changes()).toEqual({ seller: 4n * PRICE, buyers: [-4n * PRICE] })
    })
  },
)
