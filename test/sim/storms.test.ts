import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { repetitions } from '../at-length.ts'
import { runHistory } from './history.ts'
import { STORMS } from './storms.ts'

const STORM_HISTORIES = repetitions({ few: 2, many: 15 })
/** How often what a storm is for happens, at least: of few histories it may take up to three times as many until it has. */
const HAPPENS = repetitions({ few: 1, many: 8 })

// A history makes thousands of errors on purpose, and their stacks are not needed.
const { stackTraceLimit } = Error
beforeAll(() => {
  Error.stackTraceLimit = 0
})
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit
})

describe(`at least ${STORM_HISTORIES} histories for each fixed weather`, () => {
  test.each(STORMS)(
    '$name',
    async ({ name, weather, counts }) => {
      const failures: string[] = []
      let happened = 0
      const enough = () => counts === undefined || happened >= HAPPENS
      for (let seed = 1; seed <= STORM_HISTORIES || (!enough() && seed <= 3 * STORM_HISTORIES); seed++) {
        const { violations, counters } = await runHistory(seed, { weather })
        happened += counters.get(counts ?? '') ?? 0
        if (violations.length > 0) failures.push(`${name}, seed ${seed}: ${violations.join('; ')}`)
      }
      expect(failures).toEqual([])
      expect(enough(), `${counts}: ${happened} times, ${HAPPENS} are needed`).toBe(true)
    },
    240_000,
  )
})
