import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inexactNumber } from './json-numbers.ts'

test.each([
  '9007199254740993',
  '-9007199254740993',
  '1e400',
  '-1E+400',
  '1e-400',
  '0.12345678901234567890',
  '1234567890.12345678',
  '52.520006599999998',
  `1${'0'.repeat(20_000)}1`,
])('%.40s is not kept', (number) => {
  expect(inexactNumber(`{"a":[1,"\\"",${number} ]}`)).toBe(number)
  expect(inexactNumber(number)).toBe(number)
})

test.each([
  '0',
  '-0',
  '1.10',
  '1E3',
  '1e+3',
  '0.000000000000000000',
  '0.30000000000000004',
  '9007199254740992',
  '100000000000000000000000',
  '1e22',
  '1.7976931348623157e308',
  '5e-324',
  '1700000000.123456',
])('%s is kept', (number) => {
  expect(inexactNumber(`{"a":${number},"b":[${number}]}`)).toBe(undefined)
})

test('text is no number', () => {
  expect(inexactNumber('{"a":"9007199254740993","\\\\\\"1e400":"1e400","c":1e1}')).toBe(undefined)
})

test('what was written from doubles is kept', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => inexactNumber(JSON.stringify(value)) === undefined),
    { numRuns: 300 },
  )
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(inexactNumber(JSON.stringify(value))).toBe(undefined)
    }),
    { numRuns: 300 },
  )
})
