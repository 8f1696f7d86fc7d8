import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runHistory } from './history.ts'
import { STORMS } from './storms.ts'

const STORM_HISTORIES = 15

// A history makes thousands of errors on purpose, and their stacks are not needed.
const { stackTraceLimit } = Error
beforeAll(() => {
  Error.stackTraceLimit = 0
})
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit
})

describe(`${STORM_HISTORIES} histories for each fixed weather`, () => {
  test.each(STORMS)(
    '$name',
    async ({ name, weather, counts }) => {
      const failures: string[] = []
      let happened = 0
      for (let seed = 1; seed <= STORM_HISTORIES; seed++) {
        const { violations, counters } = await runHistory(seed, { weather })
        happened += counters.get(counts ?? '') ?? 0
        if (violations.length > 0) failures.push(`${name}, seed ${seed}: ${violations.join('; ')}`)
      }
      expect(failures).toEqual([])
      if (counts !== undefined) expect(happened).toBeGreaterThanOrEqual(STORM_HISTORIES / 2)
    },
    240_000,
  )
})
