import { expect, test } from 'vitest'
import type { Block } from '../ports.ts'
import { createBlockClock } from './block-clock.ts'

const START = 1_750_000_000

/**
 * A chain with a block every so often. Each block is visible `delayMs` after its own time, whose fraction of a second
 * its timestamp does not tell, and our clock may be wrong. `measured`: it has final blocks to measure by.
 */
function setUp({
  blockMs = 2_000,
  delayMs = 700,
  skewMs = 0,
  latencyMs = 80,
  measured = true,
  usualMs = blockMs,
}: {
  blockMs?: number
  delayMs?: number
  skewMs?: number
  latencyMs?: number
  measured?: boolean
  usualMs?: number
} = {}) {
  let nowMs = START * 1000 + 20_000
  const clock = createBlockClock(
    () => true,
    usualMs,
    () => nowMs + skewMs,
  )
  const blockAt = (ms: number): Block => {
    const number = Math.floor((ms - delayMs - START * 1000) / blockMs)
    return { number, hash: '0x1', timestamp: START + Math.floor((number * blockMs) / 1000) }
  }
  /** One call: it shows the chain at half of the answer time. */
  const look = () => {
    const askedAtMs = nowMs + skewMs
    const block = blockAt(nowMs + latencyMs / 2)
    nowMs += latencyMs
    clock.measure(block, measured ? blockAt(nowMs - 12_000) : block)
    clock.saw(block, askedAtMs)
    return block.number
  }
  /** Asks when the clock says, until a block above this one is visible. */
  const wait = (number: number) => {
    let looks = 0
    for (let seen = number; seen <= number; looks++) {
      nowMs += clock.untilAboveMs(number)!
      seen = look()
    }
    const lateMs = nowMs - (START * 1000 + (number + 1) * blockMs + delayMs)
    return { looks, lateMs }
  }
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { clock, look, wait, pass }
}

test.each([
  { delayMs: 700 },
  { delayMs: 0 },
  { delayMs: 1_900, latencyMs: 20 },
  { delayMs: 300, skewMs: -2_000 },
  { delayMs: 300, skewMs: 3_000 },
])('the next block is seen with few calls, and soon after it is visible: %o', (chain) => {
  const { look, wait, pass } = setUp(chain)
  const looks: number[] = []
  const late: number[] = []
  for (let round = 0; round < 30; round++) {
    pass(7_130)
    const waited = wait(look())
    looks.push(waited.looks)
    late.push(waited.lateMs)
  }
  expect(Math.max(...looks), 'the first time, too').toBeLessThanOrEqual(4)
  expect(looks.slice(5).reduce((sum, one) => sum + one) / 25).toBeLessThan(1.7)
  expect(Math.max(...late)).toBeLessThan(2_000 / 3 + 200)
  expect(late.slice(5).reduce((sum, one) => sum + one) / 25).toBeLessThan(350)
})

test.each([
  { blockMs: 250, delayMs: 100 },
  { blockMs: 400, delayMs: 300, skewMs: 2_000 },
  { blockMs: 400, delayMs: 300, measured: false },
])('blocks that come several a second are seen with few calls, and soon: %o', (chain) => {
  const { look, wait, pass } = setUp(chain)
  for (let round = 0; round < 30; round++) {
    pass(7_130)
    const { looks, lateMs } = wait(look())
    expect(looks).toBeLessThanOrEqual(2)
    expect(lateMs).toBeLessThan(chain.blockMs + 200)
  }
})

test('blocks that come every twelve seconds are seen soon, with few calls', () => {
  const { look, wait, pass } = setUp({ blockMs: 12_000, delayMs: 1_500 })
  const rounds = Array.from({ length: 30 }, () => {
    pass(7_130)
    return wait(look())
  }).slice(5)
  expect(rounds.reduce((sum, { looks }) => sum + looks, 0) / rounds.length).toBeLessThan(2)
  expect(Math.max(...rounds.map(({ lateMs }) => lateMs))).toBeLessThan(2_000)
})

test('a chain whose latest block is final at once is waited for by its usual block time', () => {
  const { look, wait, clock } = setUp({ measured: false })
  expect(clock.untilAboveMs(look())).toBeGreaterThan(0)
  expect(wait(look()).lateMs).toBeLessThan(2_000 / 3 + 200)
})

test('a chain that makes blocks faster than its network does is not waited for', () => {
  const { look, clock } = setUp({ blockMs: 300, usualMs: 2_000 })
  expect(clock.untilAboveMs(look())).toBeUndefined()
})

test('a block that was seen already is not waited for', () => {
  const { clock, look } = setUp()
  const number = look()
  expect(clock.untilAboveMs(number - 1)).toBe(0)
})

test('nothing is predicted for a chain that makes blocks on demand, or before the first block', () => {
  const { clock, look, pass } = setUp()
  expect(clock.untilAboveMs(7)).toBeUndefined()
  const number = look()
  expect(clock.untilAboveMs(number)).toBeGreaterThan(0)
  pass(60_000)
  expect(clock.untilAboveMs(number)).toBeUndefined()
})

test('there is no waiting for a node that is near', () => {
  const clock = createBlockClock(() => false, 2_000)
  const timestamp = Math.floor(Date.now() / 1000)
  const block = (number: number): Block => ({
    number,
    hash: '0x1',
    timestamp: timestamp + (number - 100) * 2,
  })
  clock.measure(block(100), block(90))
  clock.saw(block(100), Date.now())
  expect(clock.untilAboveMs(100)).toBeUndefined()
})
