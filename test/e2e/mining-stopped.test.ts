import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PRICE, type Strategy, startWorld, type World } from './world.ts'

// Both strategies at once: each waits most of its time. Within one, tests share a chain and go in turn.
describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])(
  'while no block is mined, by %s',
  (strategy) => {
    let world: World
    beforeAll(async () => {
      world = await startWorld({ strategy, options: { settleWaitSeconds: 1 } })
    })
    afterAll(() => world.stop())

    test.sequential('a payment is pending, never failed; once mined, the same payload gets its grant for one transfer', async () => {
      const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
      const books = await world.ledger(buyer)
      const body = { planId: 'basic', requestId: 'stopped' }
      const required = await world.terms(body)
      const header = await world.sign(buyer, required.accepts[0]!)
      await world.chain.setAutomine(false)

      const statusUrl = `${world.baseUrl}/x402/challenges/${required.challengeId}`
      const pending = { status: 503, body: { code: 'SETTLEMENT_PENDING', retryable: true, statusUrl } }
      const first = await world.pay(header, body)
      expect(first).toMatchObject(pending)
      expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(first.body.message).toMatch(/same payload/)
      expect(await world.access(body), 'an unpaid request would make the buyer sign again').toMatchObject(
        pending,
      )
      const rival = await world.sign(buyer, required.accepts[0]!)
      const repeats = await Promise.all([world.pay(header, body), world.pay(header), world.pay(rival, body)])
      expect(repeats).toMatchObject([pending, pending, pending])
      expect(await (await fetch(statusUrl)).json()).toMatchObject({ state: 'PENDING' })
      await expect(world.gateway.cancel(required.challengeId, 'operator')).rejects.toMatchObject({
        code: 'SETTLEMENT_PENDING',
      })
      expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })

      await world.chain.setAutomine(true)
      await world.chain.mine()
      const granted = await world.pay(header, body)
      expect(granted).toMatchObject({ status: 200, body: { type: 'AccessGrant', requestId: 'stopped' } })
      expect((await world.pay(rival, body)).body).toEqual(granted.body)
      expect(await books.changes()).toEqual({ seller: PRICE, buyers: [-PRICE] })
      expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    })

    test.sequential('a buyer that leaves in the middle still has its purchase', async () => {
      const buyer = await world.chain.newBuyer({ micro: PRICE })
      const required = await world.terms({ planId: 'basic', requestId: 'left' })
      const header = await world.sign(buyer, required.accepts[0]!)
      await world.chain.setAutomine(false)
      const leaving = fetch(`${world.baseUrl}/x402/access`, {
        method: 'POST',
        headers: { 'payment-signature': header },
        signal: AbortSignal.timeout(300),
      })
      await expect(leaving).rejects.toThrow()
      await world.chain.setAutomine(true)
      await world.until(required.challengeId, 'DELIVERED')
      const fetched = await world.pay(header)
      expect(fetched).toMatchObject({ status: 200, body: { type: 'AccessGrant' } })
      expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    })
  },
)
