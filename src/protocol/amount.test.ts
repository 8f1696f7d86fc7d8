import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dollarsToMicro, microToDollars, priceFault, UintString } from './amount.ts'

describe('prices', () => {
  test.each([
    ['$1', 1_000_000n],
    ['$1.50', 1_500_000n],
    ['$0.000001', 1n],
    ['$0.01', 10_000n],
    ['$1234.567891', 1_234_567_891n],
  ])('%s is %s micro-units', (price, micro) => expect(dollarsToMicro(price)).toBe(micro))

  test.each([
    ['1.00', 'must start with "$"'],
    ['$1,000', 'commas'],
    ['$0.0000001', 'more than 6 decimals'],
    ['$-1', 'sign'],
    ['$+1', 'sign'],
    ['$ 1', 'blanks'],
    ['$1 ', 'blanks'],
    ['$0', 'more than zero'],
    ['$0.00', 'more than zero'],
    ['$', 'decimal number'],
    ['$1.', 'decimal number'],
    ['$.5', 'decimal number'],
    ['$1e6', 'decimal number'],
    ['$0x10', 'decimal number'],
    ['$NaN', 'decimal number'],
    ['$9999999999999', 'must be at most $999999999999.999999'],
    ['$1000000000000', 'must be at most $999999999999.999999'],
  ])('%s is refused: %s', (price, why) => {
    expect(priceFault(price)).toContain(why)
    expect(() => dollarsToMicro(price)).toThrow(why)
  })

  test('dollars and micro-units are each other’s inverse', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 17n }), (micro) => {
        expect(dollarsToMicro(microToDollars(micro))).toBe(micro)
      }),
    )
  })
})

test.each(['1e6', '0x10', '-1', ' 1', '1 ', '01', '', '1.0', '9'.repeat(80)])(
  '%j is no wire amount',
  (value) => {
    expect(UintString.safeParse(value).success).toBe(false)
  },
)
