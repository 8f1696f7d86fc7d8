import { expect, test } from 'vitest'
import { createLearnedLimit } from './learned-limit.ts'

test('a limit that shrank grows back within minutes', () => {
  let nowMs = 0
  const limit = createLearnedLimit(10_000, () => nowMs)
  limit.shrinkTo(1)
  expect(limit.current()).toBe(1)
  nowMs += 10_000
  expect(limit.current()).toBe(2)
  nowMs += 150_000
  expect(limit.current()).toBe(10_000)
})

test('a node that refuses again is asked for more less and less often', () => {
  let nowMs = 0
  const limit = createLearnedLimit(50, () => nowMs)
  limit.shrinkTo(2)
  let tries = 0
  for (; nowMs < 24 * 3_600_000; nowMs += 1_000) {
    if (limit.current() === 2) continue
    tries += 1
    limit.shrinkTo(2)
  }
  expect(tries).toBeLessThan(40)
})
