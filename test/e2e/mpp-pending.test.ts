import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mppBuyer, post } from './mpp-buyer.ts'
import { eventually, PRICE, type Strategy, startWorld, type World } from './world.ts'

const BODY = { planId: 'basic' }

// Both strategies at once: each waits most of its time. Within one, tests share a chain and go in turn.
describe.concurrent.each<Strategy>(['gas-wallet', 'facilitator'])(
  'an outcome that is not known is no 402, by %s',
  (strategy) => {
    let world: World
    let access: string
    beforeAll(async () => {
      world = await startWorld({ strategy, options: { settleWaitSeconds: 1 } })
      access = `${world.baseUrl}/x402/access`
    })
    afterAll(() => world.stop())

    /** What mppx makes of it: a 503, and one signature that pays once it is sent again. */
    async function staysPending(mend: () => Promise<void>): Promise<void> {
      const buyer = await world.chain.newBuyer({ micro: 5n * PRICE })
      const mppx = mppBuyer(buyer.account)
      const response = await mppx.fetch(access, post(BODY))
      expect(response.status).toBe(503)
      expect(response.headers.get('content-type')).toBe('application/problem+json')
      expect(response.headers.get('www-authenticate')).toBeNull()
      expect(response.headers.get('payment-required')).toBeNull()
      expect(response.headers.get('payment-receipt')).toBeNull()
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await response.json()).toMatchObject({
        status: 503,
        code: 'SETTLEMENT_PENDING',
        retryable: true,
      })
      expect([mppx.signed.times, mppx.sent.length]).toEqual([1, 2])
      await mend()
      const authorization = mppx.sent.at(-1)!.get('authorization')!
      const granted = await eventually(async () => {
        const again = await fetch(access, post(BODY, { authorization }))
        expect(again.status).not.toBe(402)
        return again.status === 200 && again
      })
      expect(granted.headers.get('payment-receipt')).toBeTruthy()
      expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
    }

    test.sequential('while nothing is mined, mppx signs once; the same credential has its grant afterwards', async () => {
      await world.chain.setAutomine(false)
      await staysPending(async () => {
        await world.chain.setAutomine(true)
        await world.chain.mine()
      })
    })

    if (strategy === 'facilitator') {
      test.sequential('a facilitator that hangs, or says nothing that can be believed', async () => {
        const { faults } = world.facilitator!
        for (const fault of ['hang', 'error-500', 'refuse'] as const) {
          faults.always('settle', fault, { reason: 'unexpected_settle_error' })
          await staysPending(async () => faults.clear())
        }
      })
    }
  },
)
