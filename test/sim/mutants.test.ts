import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { repetitions } from '../at-length.ts'
import { runHistory } from './history.ts'
import { MUTANTS } from './mutants.ts'

const MUTANT_HISTORIES = repetitions({ few: 100, many: 400 })
/** Rare ones would need most of the time. */
const SOUGHT = MUTANTS.filter(({ rare }) => !rare || MUTANT_HISTORIES > 100)

// A history makes thousands of errors on purpose, and their stacks are not needed.
const { stackTraceLimit } = Error
beforeAll(() => {
  Error.stackTraceLimit = 0
})
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit
})

describe('the simulator finds a money bug', () => {
  test.each(SOUGHT)(
    '$name',
    async ({ mutation }) => {
      let caught: string | undefined
      for (let seed = 1; seed <= MUTANT_HISTORIES && caught === undefined; seed++) {
        caught = (await runHistory(seed, { mutation })).violations[0]
      }
      expect(caught).toBeDefined()
    },
    240_000,
  )
})
