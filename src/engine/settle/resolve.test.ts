import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { testRail } from '../../../test/engine/test-rail.ts'
import { testAttempt } from '../../../test/engine/test-rows.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createResolver } from './resolve.ts'

const BLOCK = { number: 7, hash: '0x7', timestamp: 100 } as const

/** A chain on which nothing is mined; `looks` counts how often it was asked. */
function setUp({ blockMs }: { blockMs?: number } = {}) {
  const clock = createFakeClock()
  let looks = 0
  const look = async () => {
    looks += 1
    return { at: BLOCK, found: [], mined: [] }
  }
  const rails = [
    testRail({
      chain: {
        head: async () => ({ latest: BLOCK, finalized: BLOCK }),
        ...(blockMs !== undefined && { untilBlockAboveMs: () => blockMs }),
      },
      scheme: { uses: look, usesIfMined: async () => ({ at: (await look()).at }) },
    }),
  ]
  const { core, rail } = testCore({ rails, clock, config: { pollIntervalMs: 100 } })
  const resolver = createResolver(core, rail)
  const row = (key: string) => testAttempt({ key, phase: 'BROADCAST', walletTx: `tx-${key}` })
  return { clock, resolver, row, looks: () => looks }
}

test('while every send waits for its block, the chain is not asked; the answer of one makes it be asked at once', async () => {
  const { clock, resolver, row, looks } = setUp({ blockMs: 2000 })
  const [a, b] = [row('a'), row('b')]
  resolver.watch([a], true)
  resolver.watch([b], true)
  await clock.advance(4000)
  expect(looks()).toBe(0)
  resolver.noteSent([a], true)
  await expect.poll(looks).toBe(1)
  resolver.stop()
  await resolver.idle()
})

test('a send that is not in a block yet does not change when the next block is looked for', async () => {
  const { clock, resolver, row, looks } = setUp({ blockMs: 90 })
  const a = row('a')
  resolver.watch([a], true)
  resolver.noteSent([a], false)
  await nextTurn()
  await nextTurn()
  expect(looks()).toBe(0)
  await clock.advance(90)
  await expect.poll(looks).toBe(1)
  resolver.stop()
  await resolver.idle()
})

test('a send that does not answer holds up the looks for some seconds only', async () => {
  const { clock, resolver, row, looks } = setUp()
  resolver.watch([row('a')], true)
  await nextTurn()
  await clock.advance(5000)
  await clock.advance(100)
  await expect.poll(looks).toBeGreaterThan(0)
  resolver.stop()
  await resolver.idle()
})

test('a payment that nobody waits for is looked for, whatever else is under way', async () => {
  const { clock, resolver, row, looks } = setUp()
  resolver.watch([row('a')], true)
  await nextTurn()
  resolver.watch([row('b')])
  await nextTurn()
  await clock.advance(100)
  await expect.poll(looks).toBe(1)
  resolver.stop()
  await resolver.idle()
})
