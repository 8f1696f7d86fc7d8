import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PRICE, type Strategy, startWorld, type World } from '../e2e/world.ts'
import { headerOf, sendsOf, signedPayload } from './forge.ts'

const BUDGET = 30

describe.each<Strategy>(['gas-wallet', 'facilitator'])('payments that would revert, by %s', (strategy) => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({ strategy })
  })
  afterAll(() => world.stop())

  test('attack 34: they are simulated, cost no gas, and are limited per payer', async () => {
    const broke = await world.chain.newBuyer({ micro: PRICE - 1n })
    const gasWallet = world.chain.account(1).address
    const gas = await world.chain.client.getBalance({ address: gasWallet })
    const sends = await sendsOf(world)
    for (let turn = 0; turn < BUDGET; turn++) {
      const failed = await world.pay(await world.sign(broke, (await world.terms()).accepts[0]!))
      expect(failed).toMatchObject({ status: 402, body: { code: 'PAYMENT_FAILED' } })
    }
    const { accepts } = await world.terms()
    const limited = await world.pay(await world.sign(broke, accepts[0]!))
    expect(limited).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED', retryable: true } })
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    expect(await sendsOf(world)).toBe(sends)
    expect(await world.chain.client.getBalance({ address: gasWallet })).toBe(gas)
    expect(await world.chain.balanceOf(broke.address)).toBe(PRICE - 1n)

    const other = await world.chain.newBuyer({ micro: PRICE })
    expect(await world.pay(await world.sign(other, accepts[0]!)), 'another payer').toMatchObject({
      status: 200,
    })
    expect(await world.flows(other)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test('attack 34: forged payments in a victim’s name do not use up the victim’s budget', async () => {
    const [victim, attacker] = await Promise.all([
      world.chain.newBuyer({ micro: PRICE }),
      world.chain.newBuyer(),
    ])
    const { accepts } = await world.terms()
    const forged = await Promise.all(
      Array.from({ length: BUDGET + 5 }, () =>
        signedPayload(attacker, accepts[0]!, { from: victim.address }),
      ),
    )
    const answers = await Promise.all(forged.map((payload) => world.pay(headerOf(payload))))
    expect(answers.every(({ status }) => status === 400 || status === 429)).toBe(true)
    expect(await world.pay(await world.sign(victim, accepts[0]!))).toMatchObject({ status: 200 })
    expect(await world.flows(victim)).toEqual({ paid: [PRICE], refunded: [] })
  })
})
