import { expect, test } from 'vitest'
import { saltHashOf, showsSalt } from './ownership.ts'

test('only a request with the salt of the offer comes from its buyer', () => {
  const claimed = saltHashOf('s-1')
  expect(showsSalt(claimed, 's-1')).toBe(true)
  for (const other of ['s-2', 'S-1', 's-1 ', '', claimed, null]) expect(showsSalt(claimed, other)).toBe(false)
})

test('a payment that was claimed without a salt matches no salt', () => {
  expect(saltHashOf(null)).toBeNull()
  for (const salt of ['s-1', '', null]) expect(showsSalt(null, salt)).toBe(false)
})

test('the salt itself is not stored', () => {
  expect(saltHashOf('s-1')).not.toContain('s-1')
  expect(saltHashOf('s-1')).toMatch(/^[0-9a-f]{64}$/)
})
