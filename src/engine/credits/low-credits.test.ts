import { expect, test } from 'vitest'
import type { CreditRow } from '../../ports.ts'
import { sampleRow } from '../../testing/store-rows.ts'
import { lowEntries } from './low-credits.ts'

const lot = (granted: number, spent: number): CreditRow => ({
  ...sampleRow('credits', { key: 'http-1', ref: '0xa1/basic/default' }),
  granted,
  spent,
})

const entriesOf = (granted: number, before: number, after: number) =>
  lowEntries({ rows: [lot(granted, before)], now: 7 }, [lot(granted, after)])

test('a purchase becomes low once: when a tenth of it is left', () => {
  expect(entriesOf(50, 43, 44)).toEqual([])
  expect(entriesOf(50, 44, 45)).toEqual([
    {
      ...{ at: 7, challengeId: 'http-1', requestId: 'request-1', event: 'credits-low', actor: 'gateway' },
      ...{ fromState: null, toState: null },
      details: { granted: 50, spent: 45, remaining: 5, planId: 'basic', payer: '0xa1' },
    },
  ])
  expect(entriesOf(50, 45, 46)).toEqual([])
  expect(entriesOf(50, 40, 50)).toHaveLength(1)
})

test('a small purchase is low when nothing is left', () => {
  expect(entriesOf(5, 3, 4)).toEqual([])
  expect(entriesOf(5, 4, 5)).toHaveLength(1)
})
