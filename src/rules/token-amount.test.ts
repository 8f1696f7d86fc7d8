import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  chargedMicroDollars,
  microDollars,
  roundedMicroDollars,
  tokenUnits,
  unitsToDollars,
} from './token-amount.ts'

const usdc = { decimals: 6 }
const dai = { decimals: 18 }

describe('a token of six decimals', () => {
  test('counts micro-dollars', () => {
    expect(tokenUnits(usdc, '1500000')).toBe('1500000')
    expect(microDollars(usdc, '1500000')).toBe('1500000')
    expect(microDollars(usdc, '0')).toBe('0')
  })
})

describe('a token of eighteen decimals', () => {
  test('has 10^12 units for a micro-dollar', () => {
    expect(tokenUnits(dai, '1')).toBe('1000000000000')
    expect(tokenUnits(dai, '1500000')).toBe('1500000000000000000')
    expect(microDollars(dai, '1500000000000000000')).toBe('1500000')
    expect(microDollars(dai, '0')).toBe('0')
  })

  test('units that are not a whole number of micro-dollars are no price', () => {
    for (const units of ['1', '999999999999', '1000000000001', '1500000000000000001'])
      expect(microDollars(dai, units)).toBeUndefined()
  })
})

test('a price becomes units and the same price again, however large it is', () => {
  const price = fc.bigInt({ min: 0n, max: 10n ** 18n }).map(String)
  fc.assert(
    fc.property(price, fc.integer({ min: 6, max: 18 }), (micro, decimals) => {
      expect(microDollars({ decimals }, tokenUnits({ decimals }, micro))).toBe(micro)
    }),
  )
})

test.each([
  [6, '1500000', '$1.50'],
  [6, '1858', '$0.001858'],
  [6, '0', '$0.00'],
  [18, '1000000000000000000', '$1.00'],
  [18, '1858000000000001', '$0.001858000000000001'],
  [36, '1', `$0.${'0'.repeat(35)}1`],
])('units of a token of %i decimals are told in dollars, exactly: %s', (decimals, units, dollars) => {
  expect(unitsToDollars({ decimals }, units)).toBe(dollars)
})

test('rounded to micro-dollars, units are never worth more than they are', () => {
  expect(roundedMicroDollars(usdc, '1858')).toBe(1858n)
  expect(roundedMicroDollars(dai, '333333333333333333')).toBe(333333n)
  expect(roundedMicroDollars(dai, '1')).toBe(0n)
})

test('a charge is rounded up to micro-dollars, and none stays none', () => {
  expect(chargedMicroDollars(usdc, '1858')).toBe('1858')
  expect(chargedMicroDollars(dai, '1858000000000000')).toBe('1858')
  expect(chargedMicroDollars(dai, '1858000000000001')).toBe('1859')
  expect(chargedMicroDollars(dai, '1')).toBe('1')
  expect(chargedMicroDollars(dai, '0')).toBe('0')
})
