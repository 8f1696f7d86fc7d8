import { describe, expect, test } from 'vitest'
import { testCore } from '../../test/engine/test-core.ts'
import { MAINNET, testRail } from '../../test/engine/test-rail.ts'
import { testChallenge } from '../../test/engine/test-rows.ts'
import { findNetwork } from '../protocol/networks.ts'
import { createFakeClock } from '../testing/fake-clock.ts'

const ETHEREUM = findNetwork('ethereum')!
const GWEI = 1_000_000_000n

function open(count = 3) {
  const clock = createFakeClock()
  const networks = [undefined, MAINNET, ETHEREUM]
  const all = networks.slice(0, count).map((network) => testRail(network && { network }))
  const { core, alerts } = testCore({ clock, rails: all, config: { maxGasShare: 0.5 } })
  const { rails } = core
  const offered = (amount = '1000000') =>
    rails.offered(amount).map(({ id }) => all.findIndex((rail) => rail.id === id))
  const [first, second, third] = rails.all
  return {
    clock,
    rails,
    standing: rails.standing,
    alerts,
    offered,
    first: first!,
    second: second!,
    third: third!,
  }
}

describe('a rail that cannot settle', () => {
  test('is left out of new offers and of stored ones, and comes back with one look', async () => {
    const { rails, standing, offered, second, clock } = open()
    standing.failed(second, 'the gas wallet is empty')
    expect(offered()).toEqual([0, 2])
    const stored = testChallenge({ key: 'http-1', amount: '1000000' })
    expect(rails.offeredOf(stored)).toHaveLength(2)
    expect(rails.offeredOf({ ...stored, payTo: `0x${'0b'.repeat(20)}` })).toHaveLength(2)
    expect(rails.states()[1]).toMatchObject({
      withdrawn: { reason: 'the gas wallet is empty', since: clock.now() },
    })
    standing.able(second)
    expect(offered()).toEqual([0, 1, 2])
    expect(rails.states().map(({ withdrawn }) => withdrawn)).toEqual([null, null, null])
  })

  test('is told once, by name and reason, and once more when it is back', () => {
    const { standing, alerts, second } = open()
    standing.failed(second, 'the chain cannot be reached')
    standing.failed(second, 'the chain does not answer')
    standing.refused(second, 'the chain cannot be reached')
    standing.able(second)
    standing.able(second)
    expect(alerts).toEqual([
      {
        kind: 'rail-withdrawn',
        message: 'Base (eip155:8453) is left out of new offers: the chain cannot be reached',
      },
      { kind: 'rail-returned', message: 'Base (eip155:8453) is offered again' },
    ])
  })

  test('is not withdrawn by one failed look shortly after a good one, but by a refused payment', async () => {
    const { standing, offered, second, clock } = open()
    standing.able(second)
    await clock.advance(4_000)
    standing.failed(second, 'the chain cannot be reached')
    expect(offered()).toEqual([0, 1, 2])
    await clock.advance(4_000)
    standing.failed(second, 'the chain cannot be reached')
    expect(offered()).toEqual([0, 2])
    standing.able(second)
    standing.refused(second, 'the gas wallet is empty')
    expect(offered()).toEqual([0, 2])
  })

  test('is offered all the same if it is preferred and no other is left', () => {
    const { standing, offered, first, second, third } = open()
    for (const rail of [first, second]) standing.failed(rail, 'it is down')
    expect(offered()).toEqual([2])
    standing.failed(third, 'it is down')
    expect(offered()).toEqual([0])
  })

  test('is offered all the same if it is the only one, and nobody is told', () => {
    const { rails, standing, offered, alerts, first } = open(1)
    standing.failed(first, 'it is down')
    standing.refused(first, 'it is down')
    expect([offered(), rails.states()[0]!.withdrawn, alerts]).toEqual([[0], null, []])
  })
})

describe('the least price of a rail', () => {
  test('is what makes its gas the largest share that the seller allows; the preferred one takes all', () => {
    const { rails, standing, offered, first, third } = open()
    expect(offered('1'), 'while its gas price is not known it is offered').toEqual([0, 1, 2])
    // 80,000 gas at 1 gwei are 0.00008 ETH, which is 24 cents at $3000.
    const least = 480_000
    standing.gasPrice(third, GWEI)
    standing.gasPrice(first, GWEI)
    expect(rails.states().map(({ leastAmount }) => leastAmount)).toEqual(['0', '0', String(least)])
    expect(offered(String(least - 1))).toEqual([0, 1])
    expect(offered(String(least))).toEqual([0, 1, 2])
  })

  test('may have risen to twice what is paid, between the offer and the payment', () => {
    const { standing, first, second, third } = open()
    for (const rail of [first, third]) standing.gasPrice(rail, GWEI)
    expect(standing.carries(third, '239999')).toBe(false)
    expect(standing.carries(third, '240000')).toBe(true)
    for (const rail of [first, second]) expect(standing.carries(rail, '1')).toBe(true)
  })

  test('rises at once, and falls when the gas is a tenth cheaper', () => {
    const { rails, standing, third } = open()
    const leastAt = (wei: bigint) => {
      standing.gasPrice(third, wei)
      return Number(rails.states()[2]!.leastAmount)
    }
    const high = leastAt(GWEI)
    expect(leastAt((GWEI * 95n) / 100n)).toBe(high)
    expect(leastAt((GWEI * 101n) / 100n)).toBeGreaterThan(high)
    expect(leastAt((GWEI * 80n) / 100n)).toBeLessThan(high)
    expect(leastAt(0n)).toBe(0)
  })
})

describe('the list of an offer', () => {
  test('stays the same while the rails of its price are the same', () => {
    const { rails, standing, second, third } = open()
    const [cheap, dear] = [rails.offered('1000'), rails.offered('1000000000')]
    standing.gasPrice(third, GWEI)
    expect(rails.offered('1000000000')).toBe(dear)
    expect(rails.offered('1000')).not.toBe(cheap)
    const withoutThird = rails.offered('1000')
    standing.gasPrice(third, 2n * GWEI)
    expect(rails.offered('1000')).toBe(withoutThird)
    standing.failed(second, 'it is down')
    expect(rails.offered('1000000000')).toHaveLength(2)
    expect(rails.offered('1000000000')).toBe(rails.offered('1000000000'))
  })
})
