import { expect, test } from 'vitest'
import { durationFrom, secondsOf } from '../../ui/setup/duration.ts'

test.each([
  ['30', '30 seconds'],
  ['60', '1 minute'],
  ['5400', '90 minutes'],
  ['3600', '1 hour'],
  ['604800', '7 days'],
  ['3601', '3601 seconds'],
])('%s is shown as %s, and read back as the same', (configured, shown) => {
  expect(durationFrom(configured)).toBe(shown)
  expect(secondsOf(shown)).toBe(Number(configured))
})

test.each([
  ['3600', 3600],
  ['1.5 h', 5400],
  ['2h', 7200],
  [' 15 Min ', 900],
  ['10s', 10],
  ['2 weeks', 1_209_600],
  ['0', 0],
  ['soon', undefined],
  ['1 fortnight', undefined],
  ['-1 hour', undefined],
  ['0.001 seconds', undefined],
  ['', undefined],
])('%j is %j seconds', (text, seconds) => expect(secondsOf(text)).toBe(seconds))

test('what is no time is shown as it was configured', () => {
  expect(durationFrom('soon')).toBe('soon')
  expect(durationFrom('0')).toBe('0')
})
