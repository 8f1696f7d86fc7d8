import { expect, test } from 'vitest'
import { growthOf, LEAST_MINUTES } from './growth.ts'
import type { Held, Sample } from './samples.ts'

const MB = 1024 * 1024

/** A run whose first instance holds `then` for two thirds, and `now` in the last. */
function runOf(then: Held, now: Held): Sample[] {
  return Array.from({ length: 30 }, (_, index) => ({
    at: index,
    // It is down for a moment, and the others say nothing.
    instances: [index === 12 ? undefined : index < 20 ? then : now, { ...now, rssBytes: index * 100 * MB }],
    storeBytes: index,
    delivered: index,
  }))
}

const flat: Held = { rssBytes: 200 * MB, handles: 50, diskBytes: 0 }

test('an instance that holds as much as before has not grown', () => {
  expect(growthOf(runOf(flat, { ...flat, rssBytes: 220 * MB, handles: 55 }), LEAST_MINUTES)).toEqual([])
})

test.each<[keyof Held, number]>([
  ['rssBytes', 250 * MB],
  ['handles', 70],
  ['diskBytes', MB],
])('more %s in the last third than in the middle one is named', (what, now) => {
  const found = growthOf(runOf(flat, { ...flat, [what]: now }), LEAST_MINUTES)
  expect(found).toEqual([expect.stringContaining(`${what} of the first instance grew from`)])
})

test('a short run has no thirds to compare', () => {
  expect(growthOf(runOf(flat, { ...flat, handles: 500 }), LEAST_MINUTES - 1)).toEqual([])
})
