import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PRICE, startWorld, type World } from '../e2e/world.ts'
import { headerOf, sendsOf, signedPayload } from './forge.ts'
import { WAYS } from './ways.ts'

const PER_MINUTE = 20

describe('payments that fail, one after the other, from one address', () => {
  let world: World
  beforeAll(async () => {
    const options = { mcp: true, rateLimitPerMinute: PER_MINUTE, settleWaitSeconds: 1 }
    world = await startWorld({ proxied: true, options })
  })
  afterAll(() => world.stop())

  test.each(['HTTP', 'A2A', 'MCP'] as const)(
    'attack 34: over %s, a flood of forged payments is soon refused without a look at the chain',
    async (name) => {
      // Counts are kept in memory: each way starts with none.
      await world.restart()
      const way = WAYS[name](world)
      const body = { planId: 'basic', requestId: `flood-${name}` }
      const attacker = await world.chain.newBuyer({ micro: PRICE })
      const { accepted } = await way.ask(body)
      const forge = async () => {
        const from = (await world.chain.newBuyer()).address
        return way.pay(await signedPayload(attacker, accepted, { from }), body)
      }
      for (let turn = 0; turn < PER_MINUTE; turn++) {
        expect(await forge()).toMatchObject({ code: 'INVALID_PROOF' })
      }
      const sends = await sendsOf(world)
      world.proxy?.cut()
      for (let turn = 0; turn < 5; turn++) {
        const limited = await forge()
        expect(limited).toMatchObject({ httpStatus: 429, code: 'RATE_LIMITED' })
        expect(Number(limited.retryAfter)).toBeGreaterThan(0)
      }
      world.proxy?.mend()
      expect(await sendsOf(world)).toBe(sends)
    },
  )

  test('attack 34: what is in flight is taken and answered, whatever else has failed', async () => {
    await world.restart()
    const buyer = await world.chain.newBuyer({ micro: 2n * PRICE })
    const { accepts } = await world.terms()
    const inFlight = await world.sign(buyer, accepts[0]!)
    await world.chain.setAutomine(false)
    expect(await world.pay(inFlight)).toMatchObject({ status: 503, body: { code: 'SETTLEMENT_PENDING' } })
    const other = (await world.terms()).accepts[0]!
    const broke = await world.chain.newBuyer()
    const failing = await signedPayload(broke, other, { value: '1' })
    for (let turn = 0; turn < PER_MINUTE; turn++) {
      expect(await world.pay(headerOf(failing))).toMatchObject({ body: { code: 'AMOUNT_MISMATCH' } })
    }
    const good = await world.sign(buyer, other)
    expect(await world.pay(good)).toMatchObject({ status: 429, body: { retryable: true } })
    expect(await world.pay(inFlight)).toMatchObject({ status: 503, body: { code: 'SETTLEMENT_PENDING' } })
    await world.chain.setAutomine(true)
    await world.chain.mine()
    expect(await world.pay(inFlight)).toMatchObject({ status: 200 })
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })
})
