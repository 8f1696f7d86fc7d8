import { expect, test } from 'vitest'
import type { Block } from '../ports.ts'
import { createBlockClock } from './block-clock.ts'

const START = 1_750_000_000

/** A chain with a block every 2 s. Each block is visible `delayMs` after its own time, and our clock may be wrong. */
function setUp({ delayMs = 700, skewMs = 0, latencyMs = 80 } = {}) {
  let nowMs = START * 1000 + 20_000
  const clock = createBlockClock(
    () => true,
    () => nowMs + skewMs,
  )
  const blockAt = (ms: number): Block => {
    const number = Math.floor((ms - delayMs - START * 1000) / 2000)
    return { number, hash: '0x1', timestamp: START + number * 2 }
  }
  /** One call: it shows the chain at half of the answer time. */
  const look = () => {
    const askedAtMs = nowMs + skewMs
    const block = blockAt(nowMs + latencyMs / 2)
    nowMs += latencyMs
    clock.measure(block, blockAt(nowMs - 12_000))
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
    const lateMs = nowMs - (START * 1000 + (number + 1) * 2000 + delayMs)
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
  const clock = createBlockClock(() => false)
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
