import { beforeAll, describe, expect, test } from 'vitest'
import { runHistory } from './history.ts'
import { MUTANTS } from './mutants.ts'
import { STORMS } from './storms.ts'

const HISTORIES = 2000
const STORM_HISTORIES = 80
const MUTANT_HISTORIES = 400

beforeAll(() => {
  // Nobody reads the stacks of the thousands of errors that a history makes on purpose.
  Error.stackTraceLimit = 0
})

describe(`${HISTORIES} seeded histories`, () => {
  const totals = new Map<string, number>()
  const failures: string[] = []

  beforeAll(async () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const { violations, counters } = await runHistory(seed)
      for (const [what, by] of counters) totals.set(what, (totals.get(what) ?? 0) + by)
      if (violations.length > 0)
        failures.push(`npm run sim -- --seed ${seed} --histories 1: ${violations.join('; ')}`)
    }
  }, 300_000)

  test('no invariant is violated', () => {
    expect(failures).toEqual([])
  })

  // Histories in which nothing interesting happens prove nothing.
  test.each([
    ['payments', 800],
    ['delivered', 600],
    ['grants held', 600],
    ['cached grants', 800],
    ['refund transfers', 80],
    ['refunds retried', 3],
    ['refunds FAILED', 2],
    ['refunds refused by the facilitator', 20],
    ['surplus receipts', 10],
    ['receipts lost', 4],
    ['crashes', 2000],
    ['graceful stops', 800],
    ['stops with requests in hand', 80],
    ['payments tried again', 20],
    ['calls rejected', 2000],
    ['calls answer lost', 2000],
    ['conflicts', 1000],
    ['reorgs', 800],
    ['transactions reorganised', 80],
    ['stale answers', 2000],
    ['replaced transactions', 50],
    ['reverted transactions', 500],
    ['batches', 40],
    ['reverted batches', 8],
    ['dropped transactions', 20],
    ['facilitator lies', 30],
    ['facilitator refuses-and-sends', 80],
    ['failed deliveries', 80],
    ['attempts DEAD', 300],
    ['thefts tried', 200],
    ['broadcast by buyers', 80],
    ['cancellations', 80],
    ['orders cancelled', 100],
    ['unpaid endings logged', 100],
    ['alert gas-wallet-empty', 20],
    ['plain transfers', 150],
    ['transfers claimed by strangers', 80],
    ['backend calls', 150],
    ['failed backend calls', 20],
    ['handler calls', 60],
    ['named at the claim', 300],
    ['prices raised', 200],
  ])('%s happen at least %i times', (what, least) => {
    expect(totals.get(what) ?? 0).toBeGreaterThanOrEqual(least)
  })

  test('a seed is the whole history', async () => {
    const [first, second] = [await runHistory(7, { logging: true }), await runHistory(7, { logging: true })]
    expect(second.log).toEqual(first.log)
    expect(first.log.length).toBeGreaterThan(50)
  })
})

describe(`${STORM_HISTORIES} histories each in weather that is visited on purpose`, () => {
  test.each(STORMS)('$name', async ({ name, weather, counts }) => {
    const failures: string[] = []
    let happened = 0
    for (let seed = 1; seed <= STORM_HISTORIES; seed++) {
      const { violations, counters } = await runHistory(seed, { weather })
      happened += counters.get(counts ?? '') ?? 0
      if (violations.length > 0) failures.push(`${name}, seed ${seed}: ${violations.join('; ')}`)
    }
    expect(failures).toEqual([])
    if (counts !== undefined) expect(happened).toBeGreaterThanOrEqual(STORM_HISTORIES / 2)
  })
})

describe('a money bug does not escape the simulator', () => {
  test.each(MUTANTS)('$name', async ({ mutation }) => {
    let caught: string | undefined
    for (let seed = 1; seed <= MUTANT_HISTORIES && caught === undefined; seed++) {
      caught = (await runHistory(seed, { mutation })).violations[0]
    }
    expect(caught).toBeDefined()
  })
})
