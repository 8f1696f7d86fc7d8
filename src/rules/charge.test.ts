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

const per = (quantity: unknown, unitAmount: string, token = USDC): Charge =>
  chargeOf({ kind: 'quantity', quantity, rule: { per: '/usage', unitAmount } }, 10n ** 20n, token)

test.each<[number, string, bigint]>([
  [929, '$0.000002', 1858n],
  [0, '$1000', 0n],
  [-0, '$1000', 0n],
  [1.5, '$0.01', 15_000n],
  [4e-7, '$1000', 400n],
  [0.0000014, '$1000', 1400n],
  [0.0000016, '$1000', 1600n],
  [4.9e-7, '$1.00', 1n],
  [1.25e-7, '$999999999999.999999999999', 125_000_000_000n],
  [5e-324, '$999999999999', 1n],
  [1, '$0.000000000001', 1n],
  [3, '$0.000000333333', 1n],
  [3, '$0.000000333334', 2n],
  [Number.MAX_SAFE_INTEGER, '$0.000001', 9_007_199_254_740_991n],
])('%d at %s each is %d units, rounded up once', (quantity, unitAmount, units) => {
  expect(per(quantity, unitAmount)).toEqual({ units })
})

test('of a token with 18 decimals a quantity costs smaller units', () => {
  expect(per(1.25e-7, '$0.000001', { decimals: 18 })).toEqual({ units: 125_000n })
})

test.each([-1, -1e-9, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 1e21, '5', null, 'of an array'])(
  'a quantity of %j is no amount',
  (quantity) => {
    expect(per(quantity, '$1.00')).toEqual({ fault: expect.stringMatching(/^the charge .* is no amount$/) })
  },
)

test('an answer that states no charge costs the maximum or nothing', () => {
  expect(chargeOf(undefined, MAXIMUM, USDC)).toEqual({ units: MAXIMUM })
  expect(chargeOf(undefined, MAXIMUM, USDC, 'nothing')).toEqual({ units: 0n })
})
