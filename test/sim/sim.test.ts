import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { repetitions } from '../at-length.ts'
import { runHistory } from './history.ts'

const HISTORIES = repetitions({ few: 100, many: 1000 })

/** How often each of these happens at least in a thousand histories: without faults they would prove nothing. */
const LEAST: ReadonlyArray<[what: string, least: number]> = [
  ['payments', 400],
  ['delivered', 300],
  ['grants held', 300],
  ['cached grants', 400],
  ['refund transfers', 40],
  ['refunds retried', 1],
  ['refunds FAILED', 1],
  ['refunds refused by the facilitator', 10],
  ['surplus receipts', 5],
  ['receipts lost', 2],
  ['crashes', 1000],
  ['graceful stops', 400],
  ['stops with requests in hand', 40],
  ['payments tried again', 10],
  ['calls rejected', 1000],
  ['calls answer lost', 1000],
  ['conflicts', 500],
  ['reorgs', 400],
  ['transactions reorganised', 40],
  ['stale answers', 1000],
  ['replaced transactions', 25],
  ['reverted transactions', 250],
  ['batches', 20],
  ['reverted batches', 4],
  ['dropped transactions', 10],
  ['facilitator lies', 15],
  ['facilitator refuses-and-sends', 40],
  ['failed deliveries', 40],
  ['attempts DEAD', 150],
  ['thefts tried', 100],
  ['broadcast by buyers', 40],
  ['cancellations', 40],
  ['orders cancelled', 50],
  ['unpaid endings logged', 50],
  ['alert gas-wallet-empty', 10],
  ['plain transfers', 75],
  ['transfers claimed by strangers', 40],
  ['backend calls', 75],
  ['failed backend calls', 10],
  ['handler calls', 30],
  ['named at the claim', 150],
  ['prices raised', 100],
  ['histories with 2 chains', 170],
  ['histories with 3 chains', 80],
  ['long outages', 150],
  ['offers without a chain', 20],
  ['signed for another chain', 400],
  ['signed by MPP', 500],
  ['402s signed anew by MPP', 5],
  ['paid in both dialects', 15],
  ['repeated in the other dialect', 15],
  ['tampered credentials', 30],
  ['thefts tried by MPP', 40],
  ['ids answered by strangers', 10],
  ['sent by strangers', 20],
  ['receipts of sales', 300],
  ['receipts of refunds', 30],
  ['receipts shown', 400],
  ['receipts signed again', 1],
  ['credits granted', 3000],
  ['prepaid answered', 150],
  ['prepaid repeated', 40],
  ['prepaid handlers', 40],
  ['prepaid CREDITS_EXHAUSTED', 300],
  ['reservations lapsed', 30],
  ['credit thefts tried', 10],
  ['credits lost', 2],
  ['sign-ins', 200],
  ['events told', 200],
  ['histories with metered calls', 150],
  ['metered calls', 150],
  ['failed metered calls', 25],
  ['charges stored', 90],
  ['charges that are no amount', 10],
  ['metered sales', 80],
  ['metered answers', 250],
  ['delivered for nothing', 15],
  ['permits settled', 90],
  ['answers kept back', 3],
  ['metered calls beside others', 15],
  ['allowances dropped', 40],
  ['wallets emptied', 40],
  ['nonces given up', 60],
  ['permits shown by strangers', 8],
  ['settlements shown as transfers', 20],
  ['tampered permits', 40],
  ['webhooks refused', 50],
]

// A history makes thousands of errors on purpose, and their stacks are not needed.
const { stackTraceLimit } = Error
beforeAll(() => {
  Error.stackTraceLimit = 0
})
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit
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
  }, 600_000)

  test('no invariant is violated', () => {
    expect(failures).toEqual([])
  })

  test.each(
    // What is rare may have less than its share of a few histories.
    LEAST.map(
      ([what, least]) => [what, repetitions({ few: Math.floor(least / 15), many: least })] as const,
    ).filter(([, least]) => least > 0),
  )('%s happen at least %i times', (what, least) => {
    expect(totals.get(what) ?? 0).toBeGreaterThanOrEqual(least)
  })

  test('a seed determines the whole history', async () => {
    const [first, second] = [await runHistory(7, { logging: true }), await runHistory(7, { logging: true })]
    expect(second.log).toEqual(first.log)
    expect(first.log.length).toBeGreaterThan(50)
  })
})
