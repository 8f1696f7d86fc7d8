import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runHistory } from './history.ts'
import { MUTANTS } from './mutants.ts'

const MUTANT_HISTORIES = 400

// A history makes thousands of errors on purpose, and their stacks are not needed.
const { stackTraceLimit } = Error
beforeAll(() => {
  Error.stackTraceLimit = 0
})
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit
})

describe('the simulator finds a money bug', () => {
  test.each(MUTANTS)(
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
