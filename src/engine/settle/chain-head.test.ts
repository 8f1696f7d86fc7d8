import { expect, test } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createChainHead } from './chain-head.ts'

/** A chain with a block every 2 s, on the same clock as the gateway. */
function setUp() {
  const clock = createFakeClock()
  const alerts: string[] = []
  const head = createChainHead({ clock, alerts: { raise: (kind) => alerts.push(kind) } })
  const startedAt = Math.floor(clock.now() / 1000)
  const block = (number: number) => ({ number, timestamp: startedAt + (number - 100) * 2 })
  /** Advances the clock until this block exists. */
  const reach = (number: number) => {
    clock.advance(block(number).timestamp * 1000 - clock.now())
    return block(number)
  }
  return { clock, alerts, head, block, reach }
}

test('later blocks are believed one by one, and lower ones are behind', () => {
  const { head, alerts, block, reach } = setUp()
  expect(head.weigh(block(100), block(100))).toBe('fits')
  expect(head.weigh(reach(112))).toBe('fits')
  expect(head.weigh(block(111), block(111))).toBe('behind')
  expect(head.number).toBe(112)
  expect(alerts).toEqual([])
})

test('a node that is stuck, or minutes behind, is never believed over one that was seen to be ahead', () => {
  const { clock, head, block } = setUp()
  head.weigh(block(100), block(100))
  head.weigh(block(112), block(112))
  for (let lag = 0; lag < 300; lag++) {
    clock.advance(2_000)
    // Stuck at 101 for the first half, then advancing.
    const number = Math.max(101, Math.min(111, lag - 150))
    expect(head.weigh(block(number), block(number))).toBe('behind')
  }
  expect(head.number).toBe(112)
})

test.each([
  ['its number alone', (number: number, timestamp: number) => ({ number: number + 1e9, timestamp })],
  ['its time alone', (number: number, timestamp: number) => ({ number, timestamp: timestamp + 1e6 })],
  ['both', (number: number, timestamp: number) => ({ number: number + 1e9, timestamp: timestamp + 1e6 })],
])('a block that is wrong in %s is not believed, decides nothing and is alerted once', (_, wrong) => {
  const { head, alerts, block, reach } = setUp()
  head.weigh(block(100), block(100))
  const next = reach(101)
  const lie = wrong(next.number, next.timestamp)
  expect(head.weigh(lie, next)).toBe('ahead')
  expect(head.weigh(lie)).toBe('ahead')
  expect(head.weigh(next, next)).toBe('fits')
  expect(head.number).toBe(101)
  expect(alerts).toEqual(['chain-inconsistent'])
})

test('a lower block with a time to come decides nothing either: a refund signed at it would be valid for days', () => {
  const { head, alerts, block, reach } = setUp()
  head.weigh(block(100), block(100))
  head.weigh(reach(112), block(112))
  expect(head.weigh({ ...block(108), timestamp: block(112).timestamp + 1e6 })).toBe('ahead')
  expect(head.weigh(block(108))).toBe('behind')
  // A reorganisation may show a lower block with a slightly later time.
  expect(head.weigh({ ...block(111), timestamp: block(113).timestamp })).toBe('behind')
  expect(head.number).toBe(112)
  expect(alerts).toEqual(['chain-inconsistent'])
})

test('a wrong first block is replaced by the next look', () => {
  const { head, block } = setUp()
  head.weigh({ ...block(100), number: 1e9 })
  expect(head.weigh({ ...block(100), number: 1e9 }, block(100))).toBe('ahead')
  expect(head.weigh(block(100), block(100))).toBe('fits')
  expect(head.number).toBe(100)
})

test('a wrong but plausible block is dropped when the chain has passed its time without it', () => {
  const { head, alerts, block, reach } = setUp()
  head.weigh(block(100), block(100))
  const wrong = { ...reach(101), number: 140 }
  expect(head.weigh(wrong, wrong)).toBe('fits')
  expect(head.weigh(block(101), block(101))).toBe('behind')
  const next = reach(102)
  expect(
    [1, 2, 3].map(() => head.weigh(next)),
    'single answers are no look',
  ).not.toContain('fits')
  expect(head.weigh(next, next), 'one look alone may be the wrong one').toBe('behind')
  expect(head.weigh(next, next)).toBe('fits')
  expect(head.number).toBe(102)
  expect(alerts).toEqual(['chain-inconsistent'])
})

test('a jump that stays is believed at the third look: the chain or our clock has jumped', () => {
  const { head, block } = setUp()
  head.weigh(block(100), block(100))
  const moved = { number: 101, timestamp: block(100).timestamp + 86_400 }
  expect(
    Array.from({ length: 9 }, () => head.weigh(moved)),
    'single answers are no look',
  ).not.toContain('fits')
  expect([1, 2, 3].map(() => head.weigh(moved, moved))).toEqual(['ahead', 'ahead', 'fits'])
  expect(head.weigh(moved)).toBe('fits')
  expect(head.number).toBe(101)
})

test('a wrong block that was believed is given up a minute after it was last shown', () => {
  const { head, block, reach } = setUp()
  head.weigh(block(100), block(100))
  const wrong = { number: 1e9, timestamp: block(100).timestamp + 1e6 }
  for (let look = 0; look < 10; look++) head.weigh(wrong, wrong)
  expect(head.number).toBe(1e9)
  const verdicts = Array.from({ length: 33 }, (_, index) => {
    const next = reach(101 + index)
    return head.weigh(next, next)
  })
  expect(verdicts.at(29)).toBe('behind')
  expect(verdicts.at(-1)).toBe('fits')
})
