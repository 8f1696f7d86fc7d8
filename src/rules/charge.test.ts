import { expect, test } from 'vitest'
import { type Charge, chargeOf } from './charge.ts'

const USDC = { decimals: 6 }
const MAXIMUM = 20_000n
const charged = (amount: unknown, maximum = MAXIMUM, token = USDC): Charge =>
  chargeOf({ kind: 'amount', amount }, maximum, token)

test.each<[unknown, bigint]>([
  ['1858', 1858n],
  [7, 7n],
  ['0', 0n],
  ['$0.0019', 1900n],
  ['$0.000001', 1n],
  ['$0.0000010', 1n],
  ['$0.0000019', 2n],
  ['$0.0000001', 1n],
  ['$0.00000000', 0n],
  ['$0', 0n],
  ['50%', 10_000n],
  ['33.33%', 6666n],
  ['0%', 0n],
])('a charge of %j is %d units', (amount, units) => {
  expect(charged(amount)).toEqual({ units })
})

test('a percentage of a small maximum is rounded up, as every charge is', () => {
  expect(charged('50%', 3n)).toEqual({ units: 2n })
  expect(charged('0.01%', 3n)).toEqual({ units: 1n })
  expect(charged('100%', 3n)).toEqual({ units: 3n })
})

test('what is rounded up past the maximum is the maximum, and told', () => {
  expect(charged('$0.0200001')).toEqual({ units: MAXIMUM, above: 20_001n })
})

test('a token with 18 decimals has smaller units, so that less is rounded', () => {
  const token = { decimals: 18 }
  expect(charged('$0.0000019', 10n ** 18n, token)).toEqual({ units: 1_900_000_000_000n })
  expect(charged(`$0.${'0'.repeat(18)}1`, 10n ** 18n, token)).toEqual({ units: 1n })
})

test.each(['much', '-1', '$-1', '$.5', '1.5', '0x10', '33.333%', '', ' 1', 1.5, -1, null, {}])(
  '%j is no amount',
  (amount) => {
    expect(charged(amount)).toEqual({ fault: expect.stringMatching(/^the charge .* is no amount$/) })
  },
)

test('an answer that states no charge costs the maximum or nothing', () => {
  expect(chargeOf(undefined, MAXIMUM, USDC)).toEqual({ units: MAXIMUM })
  expect(chargeOf(undefined, MAXIMUM, USDC, 'nothing')).toEqual({ units: 0n })
})
